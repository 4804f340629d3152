//! Files of language models: GGUF files, and folders of model hubs.

use std::ops::Range;
use std::sync::Arc;

use npukit_graph::language::Model;
use npukit_import::llm::gguf::MAGIC;
use npukit_import::llm::{Checkpoint, Layout, LlmError};
use npukit_import::onnx::{Part, ReadRange};
use npukit_target::{Phase, ReadError, Reader};

use crate::error::Error;
use crate::model::ModelOptions;

/// Usual number of tokens of a text.
pub const USUAL_CONTEXT: usize = 2048;
/// First bytes of a GGUF file, with its metadata and shapes.
pub const HEAD: Range<u64> = 0..16 << 20;

/// Returns the layout of the model at `path`; `None` for a description of our own.
pub fn layout(path: &str, reader: &dyn Reader) -> Option<Layout> {
    let begins = |path: &str| reader.read_range(path, 0..MAGIC.len() as u64).map(|part| part.bytes);
    match path.rsplit_once('.') {
        Some((_, "toml")) => None,
        Some((_, "gguf")) => Some(Layout::Gguf),
        _ if begins(&config(path)).is_ok() => Some(Layout::Folder),
        _ => begins(path).is_ok_and(|bytes| bytes == MAGIC).then_some(Layout::Gguf),
    }
}

/// Returns the path of a folder's configuration.
pub fn config(folder: &str) -> String {
    format!("{}/config.json", folder.trim_end_matches(['/', '\\']))
}

/// Reads a byte range of a file of the model at `path`: of the GGUF file, or of the file `name` in
/// the folder.
pub fn part(
    path: &str,
    layout: Layout,
    reader: &dyn Reader,
    name: &str,
    range: Range<u64>,
) -> Result<Part, String> {
    let part = match layout {
        Layout::Gguf => reader.read_range(path, range),
        Layout::Folder => reader.beside(&config(path), name).and_then(|file| reader.read_range(&file, range)),
    };
    let part = part.map_err(|error: ReadError| error.to_string())?;
    Ok(Part { bytes: part.bytes, file_bytes: part.file_bytes })
}

/// Opens the model at `path`, whose files `files` reads.
pub fn open(path: &str, layout: Layout, files: &ReadRange<'_>) -> Result<Checkpoint, LlmError> {
    match layout {
        Layout::Gguf => Checkpoint::open_gguf(path, files),
        Layout::Folder => Checkpoint::open_folder(path, files),
    }
}

/// Returns the file or folder of a language model, and its layout; `None` for another kind of file.
pub fn place(path: &str, reader: &dyn Reader) -> Option<(String, Layout)> {
    let folder = match path.rsplit_once(['/', '\\']) {
        Some((folder, "config.json")) => Some(folder),
        None if path == "config.json" => Some("."),
        _ => None,
    };
    match folder {
        Some(folder) => Some((folder.to_owned(), Layout::Folder)),
        None => Some((path.to_owned(), layout(path, reader)?)),
    }
}

/// Returns the options that only apply to graphs, and whether each is given.
pub fn graph_options(reading: &ModelOptions) -> [(&'static str, bool); 4] {
    [
        ("--dim", !reading.sizes.is_empty()),
        ("--input-shape", !reading.input_shapes.is_empty()),
        ("--const", !reading.values.is_empty()),
        ("--outputs", !reading.outputs.is_empty()),
    ]
}

/// Reads the shapes of a model.
pub fn shapes(path: &str, layout: Layout, only: bool, reader: &dyn Reader) -> Result<Arc<Model>, Error> {
    let _phase = Phase::begin("read the model");
    let wrong = |error: LlmError| Error::Checkpoint { path: path.to_owned(), source: Box::new(error) };
    let files = |name: &str, range: Range<u64>| part(path, layout, reader, name, range);
    let is_bare = layout == Layout::Folder && (only || !Checkpoint::has_weights(&files));
    let checkpoint = match is_bare {
        true => Checkpoint::open_shapes(path, &files),
        false => open(path, layout, &files),
    };
    Ok(Arc::new(checkpoint.and_then(|checkpoint| checkpoint.zeros()).map_err(wrong)?))
}
