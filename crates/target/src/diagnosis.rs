//! Structured errors: [`Diagnose`] gives the code and place of an error. [`ErrorKind`] recovers
//! both from an error whose type was erased.

use std::error::Error;

use npukit_base::{Code, Coded, codes};
use npukit_isa::program::ProgramErrors;
use npukit_numeric::npy::NpyError;
use serde::Serialize;

use crate::config::options::OptionError;
use crate::contract::port::PortError;
use crate::files::read::ReadError;

/// Location of an error; unknown parts are `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ErrorLocation {
    /// File, as the user named it.
    pub file: Option<String>,
    /// Line of a text, starting at 1.
    pub line: Option<usize>,
    /// Column in characters, starting at 1.
    pub column: Option<usize>,
    /// Byte offset in a binary file, starting at 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub offset: Option<usize>,
    /// Name of a node, input or tensor of a model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Index of an instruction in its program, starting at 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instruction: Option<usize>,
    /// Name of a layer of a program.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub layer: Option<String>,
}

impl ErrorLocation {
    /// Returns the place of a whole file.
    pub fn file(path: impl Into<String>) -> Self {
        Self { file: Some(path.into()), ..Self::default() }
    }

    /// Returns a place in a text, with line and column starting at 1. Column 0 means that the
    /// column is unknown.
    pub fn text(line: usize, column: usize) -> Self {
        Self { line: Some(line), column: (column > 0).then_some(column), ..Self::default() }
    }

    /// Returns a line of a text, starting at 1.
    pub fn line(line: usize) -> Self {
        Self { line: Some(line), ..Self::default() }
    }

    /// Returns a byte offset, starting at 0.
    pub fn offset(offset: usize) -> Self {
        Self { offset: Some(offset), ..Self::default() }
    }

    /// Returns the place of a node, input or tensor of a model.
    pub fn node(name: &str) -> Self {
        Self { node: Some(name.to_owned()), ..Self::default() }
    }

    /// Returns the place of an instruction and its layer, as far as they are known.
    pub fn of_instruction(instruction: Option<usize>, layer: Option<&str>) -> Self {
        Self { instruction, layer: layer.map(str::to_owned), ..Self::default() }
    }

    /// Extracts the place from a parser's message: `line 3, column 5` (toml), `line 3 column 5`
    /// (serde_json) or `line 3`.
    pub fn in_message(message: &str) -> Self {
        let number = |text: &str| {
            let digits = text.find(|c: char| !c.is_ascii_digit()).map_or(text, |end| &text[..end]);
            digits.parse::<usize>().ok().filter(|number| *number > 0) // Default: without a number the place is unknown.
        };
        let Some((_, after)) = message.split_once("line ") else { return Self::default() };
        let column = after.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start_matches(',');
        let column = column.strip_prefix(" column ").and_then(number);
        Self { line: number(after), column, ..Self::default() }
    }

    /// Returns this place in `file`, unless it already names a file.
    #[must_use]
    pub fn in_file(self, file: Option<&str>) -> Self {
        Self { file: self.file.or_else(|| file.map(str::to_owned)), ..self }
    }

    /// Returns the line and column of byte `offset` in `text`.
    pub fn of_byte(text: &str, offset: usize) -> Self {
        let before = text.get(..offset).unwrap_or(text); // Default: an offset past the end means the end.
        let line = before.rfind('\n').map_or(0, |end| end + 1);
        Self::text(before.matches('\n').count() + 1, before[line..].chars().count() + 1)
    }
}

/// One fault of an error that consists of several.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Stable code of the error, for programs.
    pub code: &'static str,
    /// Description of the fault.
    pub message: String,
    /// Location of the fault.
    pub place: ErrorLocation,
}

/// An error with a stable code and a location.
pub trait Diagnose: Coded + Error + 'static {
    /// Returns code and place, as far as the error itself knows them.
    fn diagnosis(&self) -> Diagnosis {
        Diagnosis::at(self, ErrorLocation::default())
    }
}

/// Code, place and individual faults of an error of any type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnosis {
    /// Stable code of the error, for programs.
    pub code: &'static str,
    /// Location of the error.
    pub place: ErrorLocation,
    /// Individual faults, if the error consists of several; otherwise empty.
    pub faults: Vec<Fault>,
}

impl Diagnosis {
    /// Creates the diagnosis of an error at a place.
    pub fn at(error: &(impl Coded + ?Sized), place: ErrorLocation) -> Self {
        Self { code: error.code(), place, faults: Vec::new() }
    }

    /// Creates the diagnosis of an error that consists of several faults.
    pub fn several(error: &(impl Coded + ?Sized), faults: Vec<Fault>) -> Self {
        Self { code: error.code(), place: ErrorLocation::default(), faults }
    }

    /// Replaces code and place by the values of the underlying cause, which is more precise.
    #[must_use]
    pub fn caused_by(self, cause: Self) -> Self {
        let ErrorLocation { file, .. } = &self.place;
        let is_known = cause.place != ErrorLocation::default();
        let place = if is_known { cause.place.in_file(file.as_deref()) } else { self.place };
        let faults = if cause.faults.is_empty() { self.faults } else { cause.faults };
        Self { code: cause.code, place, faults }
    }
}

/// Recognizer for one error type.
#[derive(Clone, Copy, Debug)]
pub struct ErrorKind {
    /// Codes that errors of this type can have.
    pub codes: &'static [Code],
    diagnose: fn(&(dyn Error + 'static)) -> Option<Diagnosis>,
}

impl ErrorKind {
    /// Returns the recognizer for errors of type `E`.
    pub const fn of<E: Diagnose>() -> Self {
        Self { codes: E::CODES, diagnose: diagnose::<E> }
    }

    /// Returns the recognizer for text errors of type `E`, whose faults carry their own codes and
    /// places.
    pub const fn of_text<E: Coded>() -> Self {
        Self { codes: E::CODES, diagnose: |_| None }
    }

    /// Returns the diagnosis of `error` if it has this type.
    pub fn diagnose(&self, error: &(dyn Error + 'static)) -> Option<Diagnosis> {
        (self.diagnose)(error)
    }
}

fn diagnose<E: Diagnose>(error: &(dyn Error + 'static)) -> Option<Diagnosis> {
    Some(error.downcast_ref::<E>()?.diagnosis())
}

/// Error codes that all targets share.
pub mod failure {
    use npukit_base::Code;

    /// Code of an invalid instance file.
    pub const INSTANCE: Code = Code {
        name: "invalid-instance",
        meaning: "the parameters of an instance are not of the documented form, out of range or contradict each other",
    };
    /// Code of an invalid artifact.
    pub const ARTIFACT: Code = Code {
        name: "invalid-artifact",
        meaning: "a file of an artifact is malformed or contradicts the other files",
    };
    /// Code of invalid instruction words.
    pub const WORDS: Code = Code {
        name: "invalid-words",
        meaning: "words are not instructions of the instance, or end inside one",
    };
    /// Code of an invalid input file.
    pub const INPUTS: Code = Code {
        name: "invalid-inputs",
        meaning: "an input file in the target's own text format is malformed",
    };
    /// Code of a failed compilation.
    pub const COMPILE: Code = Code {
        name: "not-compiled",
        meaning: "the model cannot be compiled for this instance, for example for lack of memory",
    };
    /// Code of a failed run.
    pub const RUN: Code =
        Code { name: "machine-stopped", meaning: "the machine cannot execute the program to its end" };
    /// Code of a failed comparison with a circuit.
    pub const COSIM: Code = Code {
        name: "not-cosimulated",
        meaning: "a program cannot be compared with the circuit of its machine, or the simulator's files are invalid",
    };
    /// Code of a failed time measurement.
    pub const TIME: Code =
        Code { name: "not-timed", meaning: "the clock or the samples of a program do not give its cycles" };
}

codes!(OptionError: Code {
    name: "illegal-option",
    meaning: "an option or its value is unknown to the target",
});
codes!(ReadError {
    Absent = "no-such-file": "the file does not exist";
    Unreadable = "unreadable-file": "the operating system cannot read a file";
    Elsewhere = "outside-folder": "a file names another file outside of its folder";
    NotAName = "no-file-name": "a file names a neighbor by something that is not a plain file name";
    Changed = "changed-manifest": "a manifest was changed after it was written";
    Mixed = "mixed-artifact": "files of one artifact come from different compilations";
});
codes!(PortError {
    Shape = "input-shape": "the shape of an input differs from the program's";
    Element = "input-type": "an input does not hold floats";
    Value = "input-value": "the input type cannot represent an element";
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
            | Self::NotAName { path, .. } => ErrorLocation::file(path),
            Self::Changed { manifest: name } | Self::Mixed { name, .. } => ErrorLocation::file(name),
        };
        Diagnosis::at(self, place)
    }
}

impl Diagnose for PortError {}

impl Diagnose for NpyError {
    fn diagnosis(&self) -> Diagnosis {
        let place = ErrorLocation { offset: Some(self.offset), ..ErrorLocation::file(&self.name) };
        Diagnosis::at(self, place)
    }
}

impl<E: std::fmt::Debug + std::fmt::Display + 'static> Diagnose for ProgramErrors<E> {
    fn diagnosis(&self) -> Diagnosis {
        let fault = |at: &npukit_isa::program::At<E>| Fault {
            code: self.code(),
            message: at.error.to_string(),
            place: ErrorLocation { instruction: Some(at.index), ..ErrorLocation::offset(at.offset) },
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
            let place = ErrorLocation::of_byte(text, offset);
            (place.line, place.column)
        };
        assert_eq!(at(0), (Some(1), Some(1)));
        assert_eq!(at(5), (Some(2), Some(2)));
        assert_eq!(at(99), (Some(3), Some(1)));
    }

    #[test]
    fn a_place_is_what_a_message_says() {
        let message =
            |text: &str| (ErrorLocation::in_message(text).line, ErrorLocation::in_message(text).column);
        assert_eq!(message("TOML parse error at line 3, column 12\n"), (Some(3), Some(12)));
        assert_eq!(message("expected `:` at line 2 column 9"), (Some(2), Some(9)));
        assert_eq!(message("line 7: no digits"), (Some(7), None));
        assert_eq!(message("no such line"), (None, None));
    }

    #[test]
    fn errors_are_recognized_by_their_type() {
        let kind = ErrorKind::of::<ReadError>();
        let error = ReadError::Absent { path: "x".to_owned() };
        let found = kind.diagnose(&error).map(|found| (found.code, found.place));
        assert_eq!(found, Some(("no-such-file", ErrorLocation::file("x"))));
        assert_eq!(kind.diagnose(&std::fmt::Error), None);
    }
}
