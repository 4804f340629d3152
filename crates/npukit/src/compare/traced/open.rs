//! Parses the name of a side and opens it.

use super::float::Float;
use super::machine::Machine;
use super::{Given, TensorSource};
use crate::Context;
use crate::error::Error;
use crate::inputs::InputFile;
use crate::model;
use crate::model::source::Source;
use crate::run::eval_limits;
use crate::targets::{has_extension, is_artifact};

/// Kind of a side, as named on the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Named {
    /// Model in float.
    Model(String),
    /// Model compiled for a target: `MODEL@TARGET`.
    Compiled { model: String, target: String },
    /// Manifest of an artifact.
    Artifact(String),
    /// Archive of arrays: `.npz`.
    Archive(String),
    /// Array of one tensor: `NAME=FILE.npy`, or `FILE.npy` for the only output of the other side.
    Array { name: Option<String>, path: String },
    /// Memory image of a board: `MEMORY=FILE`.
    Image { memory: String, path: String },
}

impl Named {
    /// Parses `text`; returns `None` for any other text.
    pub fn parse(text: &str) -> Option<Self> {
        let is_model = |path: &str| model::is_known(path) && !path.is_empty();
        let given = InputFile::parse(text);
        if let (Some(name), true) = (given.name, has_extension(&given.path, "npy")) {
            return Some(Self::Array { name: Some(name), path: given.path });
        }
        let is_word = |name: &String| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        if let InputFile { name: Some(memory), path, .. } = InputFile::parse(text)
            && is_word(&memory)
            && !memory.is_empty()
        {
            return Some(Self::Image { memory, path });
        }
        if is_artifact(text) {
            return Some(Self::Artifact(text.to_owned()));
        }
        // A target may contain `@` too: the first one after a model's name splits the text.
        let split = text.match_indices('@').map(|(at, _)| (&text[..at], &text[at + 1..]));
        if let Some((model, target)) =
            split.into_iter().find(|(path, target)| is_model(path) && !target.is_empty())
        {
            return Some(Self::Compiled { model: model.to_owned(), target: target.to_owned() });
        }
        if is_model(text) {
            return Some(Self::Model(text.to_owned()));
        }
        if has_extension(text, "npy") {
            return Some(Self::Array { name: None, path: text.to_owned() });
        }
        has_extension(text, "npz").then(|| Self::Archive(text.to_owned()))
    }

    /// Returns the path of the model, if the name contains one.
    pub fn model(&self) -> Option<&str> {
        match self {
            Self::Model(model) | Self::Compiled { model, .. } => Some(model),
            Self::Artifact(_) | Self::Archive(_) | Self::Array { .. } | Self::Image { .. } => None,
        }
    }

    /// Returns the kind as a word.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Model(_) => "float",
            Self::Compiled { .. } => "machine",
            Self::Artifact(_) => "artifact",
            Self::Archive(_) | Self::Array { .. } => "arrays",
            Self::Image { .. } => "memory",
        }
    }
}

/// Opens a model in float. Work that exceeds the limit for its size is refused unless `unlimited`.
/// Also returns notes.
pub(crate) fn float(
    source: &Source,
    given: Given<'_>,
    unlimited: bool,
    context: Context<'_>,
) -> Result<(TensorSource, Vec<String>), Error> {
    let model = model::load(&source.path, &source.model, given.inputs, context.reader)?;
    if !unlimited {
        eval_limits::check(&model.graph.name, &model.graph)?;
    }
    let (float, notes) = Float::of_model(&model, given, context)?;
    Ok((TensorSource::Float(Box::new(float)), model.remarks.with_notes(notes).notes))
}

/// Opens a compiled model, or an artifact alone. Also returns notes.
pub(crate) fn machine(
    source: &Source,
    given: Given<'_>,
    context: Context<'_>,
) -> Result<(Box<Machine>, Vec<String>), Error> {
    let program = source.program_for(given.inputs, context)?;
    let mut notes = program.notes();
    let (machine, found) = Machine::new(program, given, context)?;
    notes.extend(found);
    Ok((Box::new(machine), notes))
}

/// Opens an artifact with the model that it was compiled from, read and lowered with the options of
/// `source`.
pub(crate) fn artifact(
    path: &str,
    source: &Source,
    given: Given<'_>,
    context: Context<'_>,
) -> Result<(Box<Machine>, Vec<String>), Error> {
    let program = Source::artifact(path).program(context)?;
    let (machine, notes) = Machine::of_artifact(program, source, given, context)?;
    Ok((Box::new(machine), notes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_sides_are() {
        let kind = |text| Named::parse(text).map(|named| named.kind());
        assert_eq!(kind("m.onnx"), Some("float"));
        assert_eq!(kind("a@b/m.tflite"), Some("float"));
        assert_eq!(kind("out/m_onnx_pynqz1.tmodel"), Some("artifact"));
        assert_eq!(kind("t.npz"), Some("arrays"));
        assert_eq!((kind("dram0=board.bin"), kind("dram0=board.npz")), (Some("memory"), Some("memory")));
        assert_eq!((kind("a/y:0=y.npy"), kind("y.npy")), (Some("arrays"), Some("arrays")));
        assert_eq!((kind("./dram0=board.npz"), kind("a/b=c/m.onnx")), (Some("arrays"), Some("float")));
        assert_eq!((kind("board.bin"), kind("=x"), kind("m.onnx@")), (None, None, None));
        let compiled = Named::parse("a@b/m.onnx@chip:board@512bit");
        let (model, target) = ("a@b/m.onnx".to_owned(), "chip:board@512bit".to_owned());
        assert_eq!(compiled, Some(Named::Compiled { model, target }));
    }
}
