//! [`Diagnose`]: what an error is and where, for programs; [`ErrorKind`] finds that of an error whose type is not known
//! any more.

use std::error::Error;

use npukit_base::{Code, Coded, codes};
use npukit_isa::program::ProgramErrors;
use npukit_numeric::npy::NpyError;
use serde::Serialize;

use crate::config::options::OptionError;
use crate::contract::port::PortError;
use crate::files::read::ReadError;

/// Where something is wrong, as far as it is known.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Place {
    /// The file, as it was named.
    pub file: Option<String>,
    /// Line of a text, from 1.
    pub line: Option<usize>,
    /// Column in characters, from 1.
    pub column: Option<usize>,
    /// Byte of a file that is no text, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<usize>,
    /// Node, input or tensor of a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Instruction of a program, from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instruction: Option<usize>,
    /// Layer of a program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<String>,
}

impl Place {
    /// A whole file.
    pub fn file(path: impl Into<String>) -> Self {
        Self { file: Some(path.into()), ..Self::default() }
    }

    /// A line of a text and a column, both from 1; a column of 0 is none.
    pub fn text(line: usize, column: usize) -> Self {
        Self { line: Some(line), column: (column > 0).then_some(column), ..Self::default() }
    }

    /// A line of a text, from 1.
    pub fn line(line: usize) -> Self {
        Self { line: Some(line), ..Self::default() }
    }

    /// A byte, from 0.
    pub fn offset(offset: usize) -> Self {
        Self { offset: Some(offset), ..Self::default() }
    }

    /// A node, input or tensor of a model.
    pub fn node(name: &str) -> Self {
        Self { node: Some(name.to_owned()), ..Self::default() }
    }

    /// An instruction of a program and its layer, as far as they are known.
    pub fn of_instruction(instruction: Option<usize>, layer: Option<&str>) -> Self {
        Self { instruction, layer: layer.map(str::to_owned), ..Self::default() }
    }

    /// The place that a parser's message says: `line 3, column 5` as toml does, `line 3 column 5` as serde_json does, or
    /// `line 3`.
    pub fn told(message: &str) -> Self {
        let number = |text: &str| {
            let digits = text.find(|c: char| !c.is_ascii_digit()).map_or(text, |end| &text[..end]);
            digits.parse::<usize>().ok().filter(|number| *number > 0) // Default: no number, no place.
        };
        let Some((_, after)) = message.split_once("line ") else { return Self::default() };
        let column = after.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start_matches(',');
        let column = column.strip_prefix(" column ").and_then(number);
        Self { line: number(after), column, ..Self::default() }
    }

    /// The same in `file`, if it is in none yet.
    #[must_use]
    pub fn in_file(self, file: Option<&str>) -> Self {
        Self { file: self.file.or_else(|| file.map(str::to_owned)), ..self }
    }

    /// Where byte `offset` of `text` is.
    pub fn of_byte(text: &str, offset: usize) -> Self {
        let before = text.get(..offset).unwrap_or(text); // Default: beyond the text is its end.
        let line = before.rfind('\n').map_or(0, |end| end + 1);
        Self::text(before.matches('\n').count() + 1, before[line..].chars().count() + 1)
    }
}

/// One of the faults of an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What it is.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
    /// Where.
    pub place: Place,
}

/// An error that says what it is and where.
pub trait Diagnose: Coded + Error + 'static {
    /// What it is and where, as far as it knows itself.
    fn diagnosis(&self) -> Diagnosis {
        Diagnosis::at(self, Place::default())
    }
}

/// What an error of any type is found to be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnosis {
    /// What it is.
    pub code: &'static str,
    /// Where.
    pub place: Place,
    /// Its faults, when it is several.
    pub faults: Vec<Fault>,
}

impl Diagnosis {
    /// An error at a place.
    pub fn at(error: &(impl Coded + ?Sized), place: Place) -> Self {
        Self { code: error.code(), place, faults: Vec::new() }
    }

    /// An error that is several faults, each with its place.
    pub fn several(error: &(impl Coded + ?Sized), faults: Vec<Fault>) -> Self {
        Self { code: error.code(), place: Place::default(), faults }
    }

    /// The same with what a cause says, which knows better.
    #[must_use]
    pub fn caused_by(self, cause: Self) -> Self {
        let Place { file, .. } = &self.place;
        let is_known = cause.place != Place::default();
        let place = if is_known { cause.place.in_file(file.as_deref()) } else { self.place };
        let faults = if cause.faults.is_empty() { self.faults } else { cause.faults };
        Self { code: cause.code, place, faults }
    }
}

/// A type of errors, by which one is recognised.
#[derive(Clone, Copy, Debug)]
pub struct ErrorKind {
    /// The codes they may have.
    pub codes: &'static [Code],
    diagnose: fn(&(dyn Error + 'static)) -> Option<Diagnosis>,
}

impl ErrorKind {
    /// The errors of type `E`.
    pub const fn of<E: Diagnose>() -> Self {
        Self { codes: E::CODES, diagnose: diagnose::<E> }
    }

    /// The faults of a text of type `E`, which say themselves what and where they are.
    pub const fn of_text<E: Coded>() -> Self {
        Self { codes: E::CODES, diagnose: |_| None }
    }

    /// What `error` is, if it is of this type.
    pub fn diagnose(&self, error: &(dyn Error + 'static)) -> Option<Diagnosis> {
        (self.diagnose)(error)
    }
}

fn diagnose<E: Diagnose>(error: &(dyn Error + 'static)) -> Option<Diagnosis> {
    Some(error.downcast_ref::<E>()?.diagnosis())
}

/// What errors of any target are called.
pub mod failure {
    use npukit_base::Code;

    /// An instance's file.
    pub const INSTANCE: Code = Code {
        name: "invalid-instance",
        meaning: "the parameters of an instance are not of the documented form, out of range or contradict each other",
    };
    /// An artifact.
    pub const ARTIFACT: Code = Code {
        name: "invalid-artifact",
        meaning: "a file of an artifact is not of its format, or says something else than the others",
    };
    /// Words.
    pub const WORDS: Code = Code {
        name: "invalid-words",
        meaning: "words are no instructions of the instance, or end inside one",
    };
    /// Inputs.
    pub const INPUTS: Code = Code {
        name: "invalid-inputs",
        meaning: "a file of inputs in the target's own text is not of its form",
    };
    /// A compilation.
    pub const COMPILE: Code = Code {
        name: "not-compiled",
        meaning: "the model cannot be compiled for this instance, for want of memory for instance",
    };
    /// A run.
    pub const RUN: Code =
        Code { name: "machine-stopped", meaning: "the machine cannot execute the program to its end" };
    /// A comparison with a circuit.
    pub const COSIM: Code = Code {
        name: "not-cosimulated",
        meaning: "a program cannot be compared with the circuit of its machine, or the simulator's files are none",
    };
    /// A measurement.
    pub const TIME: Code =
        Code { name: "not-timed", meaning: "the clock or the samples of a program cannot say its cycles" };
}

codes!(OptionError: Code {
    name: "illegal-option",
    meaning: "an option is not one of the target's, or not with this value",
});
codes!(ReadError {
    Absent = "no-such-file": "there is no file of that name";
    Unreadable = "unreadable-file": "the system does not let a file be read";
    Elsewhere = "outside-folder": "a file names another that is not in its folder";
    NotAName = "no-file-name": "a file names a neighbour by something that is no plain file name";
    Changed = "changed-manifest": "a manifest was changed after it was written";
    Mixed = "mixed-artifact": "files of one artifact are of different compilations";
});
codes!(PortError {
    Shape = "input-shape": "an input has another shape than the program takes";
    Element = "input-type": "an input does not hold floats";
    Value = "input-value": "an element of an input is no value of the port's type";
    Unknown = "unknown-input": "the program has no input of that name";
    Twice = "input-twice": "an input is given twice";
    Missing = "missing-input": "an input of the program is not given";
    Samples = "input-samples": "inputs hold different numbers of samples";
});

impl Diagnose for OptionError {}

impl Diagnose for ReadError {
    fn diagnosis(&self) -> Diagnosis {
        let place = match self {
            Self::Absent { path }
            | Self::Unreadable { path, .. }
            | Self::Elsewhere { path, .. }
            | Self::NotAName { path, .. } => Place::file(path),
            Self::Changed { manifest: name } | Self::Mixed { name, .. } => Place::file(name),
        };
        Diagnosis::at(self, place)
    }
}

impl Diagnose for PortError {}

impl Diagnose for NpyError {
    fn diagnosis(&self) -> Diagnosis {
        let place = Place { offset: Some(self.offset), ..Place::file(&self.name) };
        Diagnosis::at(self, place)
    }
}

impl<E: std::fmt::Debug + std::fmt::Display + 'static> Diagnose for ProgramErrors<E> {
    fn diagnosis(&self) -> Diagnosis {
        let fault = |at: &npukit_isa::program::At<E>| Fault {
            code: self.code(),
            message: at.error.to_string(),
            place: Place { instruction: Some(at.index), ..Place::offset(at.offset) },
        };
        Diagnosis::several(self, self.errors.iter().map(fault).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_is_at_a_line_and_a_column() {
        let text = "ab\n\u{e9}c\n";
        let at = |offset| {
            let place = Place::of_byte(text, offset);
            (place.line, place.column)
        };
        assert_eq!(at(0), (Some(1), Some(1)));
        assert_eq!(at(5), (Some(2), Some(2)));
        assert_eq!(at(99), (Some(3), Some(1)));
    }

    #[test]
    fn a_place_is_what_a_message_says() {
        let told = |text: &str| (Place::told(text).line, Place::told(text).column);
        assert_eq!(told("TOML parse error at line 3, column 12\n"), (Some(3), Some(12)));
        assert_eq!(told("expected `:` at line 2 column 9"), (Some(2), Some(9)));
        assert_eq!(told("line 7: no digits"), (Some(7), None));
        assert_eq!(told("no such line"), (None, None));
    }

    #[test]
    fn errors_are_recognised_by_their_type() {
        let kind = ErrorKind::of::<ReadError>();
        let error = ReadError::Absent { path: "x".to_owned() };
        let found = kind.diagnose(&error).map(|found| (found.code, found.place));
        assert_eq!(found, Some(("no-such-file", Place::file("x"))));
        assert_eq!(kind.diagnose(&std::fmt::Error), None);
    }
}
