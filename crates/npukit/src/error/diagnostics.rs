//! Errors as data for programs: [`Error::diagnostics`] and [`Error::json`].

use std::error::Error as StdError;

use npukit_base::{Code, Coded};
use npukit_import::decoder::DecoderFileError;
use npukit_import::llm::LlmError;
use npukit_import::onnx::{ImportError, NodeProblem};
use npukit_numeric::npy::NpyError;
use npukit_target::{
    Diagnosis, ErrorKind, ErrorLocation, Fault, ManifestError, OptionError, PortError, ReadError,
    SegmentError, TargetError,
};
use serde_json::{Value, json};

use super::Error;
use crate::boards::BoardError;
use crate::report::diagnostic::{Diagnostic, causes, chain};
use crate::targets::targets;
use crate::verbs::build::BuildError;
use crate::verbs::cosim::SimulatorError;

impl Error {
    /// Returns the error with all its details, as `--json` prints it.
    pub fn json(&self) -> Value {
        let report = match self {
            // A report is a map of strings to lists and texts, so it always serializes.
            Self::Refused { report } => serde_json::to_value(report).ok(),
            _ => None,
        };
        let mut answer = described(self, &self.diagnostics());
        if let (Some(Value::Object(report)), Some(answer)) = (report, answer.as_object_mut()) {
            answer.extend(report);
        }
        if let (Self::NotProved { report }, Some(answer)) = (self, answer.as_object_mut()) {
            // Serializes for the same reason.
            answer.insert("verification".to_owned(), serde_json::to_value(report).unwrap_or_default());
        }
        answer
    }

    /// Returns all faults, one entry per fault; never empty.
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        let several = match self {
            Self::Refused { report } => report.diagnostics.clone(),
            Self::Import { path, source } => parts(path, source),
            Self::Target(error) => of_target(error),
            _ => Vec::new(),
        };
        if several.is_empty() { vec![self.diagnostic()] } else { several }
    }

    /// Returns the error as a single diagnostic.
    fn diagnostic(&self) -> Diagnostic {
        Diagnostic::of(self.code(), self).at(self.place())
    }

    fn place(&self) -> ErrorLocation {
        match self {
            Self::NotReport { path, .. }
            | Self::NeedlessTarget { path }
            | Self::NeedlessOption { path, .. }
            | Self::UnknownFile { path, .. }
            | Self::Folder { path, .. }
            | Self::OpenDimensions { path, .. }
            | Self::NoText { path }
            | Self::NotCheckpoint { path }
            | Self::Inapplicable { path, .. }
            | Self::Utf16 { path }
            | Self::NoHeldOut { path }
            | Self::KeptText { path, .. }
            | Self::ShortText { path, .. }
            | Self::OtherTokens { path, .. }
            | Self::Simplify { path, .. }
            | Self::UnknownInput { path, .. }
            | Self::Certificate { path, .. }
            | Self::Labels { path, .. } => ErrorLocation::file(path),
            Self::HeldOut { path, line } | Self::HeldOutPrompt { path, line, .. } => {
                ErrorLocation::line(*line).in_file(Some(path))
            }
            Self::Technology { path, line, .. } => ErrorLocation::line(*line).in_file(Some(path)),
            Self::NotText { path, offset } => ErrorLocation::offset(*offset).in_file(Some(path)),
            Self::Import { path, source } => model_place(source).in_file(Some(path)),
            Self::Description { path, source } => description_place(source).in_file(Some(path)),
            Self::Checkpoint { path, source } => checkpoint_place(path, source),
            Self::Read(error) => npukit_target::Diagnose::diagnosis(error).place,
            Self::NotProved { report } => {
                let found = report.counterexample.as_ref();
                ErrorLocation::of_instruction(
                    found.and_then(|found| found.instruction),
                    found.and_then(|found| found.layer.as_deref()),
                )
            }
            Self::Array(error) => npukit_target::Diagnose::diagnosis(error).place,
            _ => ErrorLocation::default(),
        }
    }
}

/// Returns the nodes, inputs and tensors that cannot be imported.
fn parts(path: &str, error: &ImportError) -> Vec<Diagnostic> {
    let ImportError::Problems { problems } = error else { return Vec::new() };
    let part = |problem: &NodeProblem| {
        let place = ErrorLocation::node(&problem.node).in_file(Some(path));
        let message = format!("{}: {}", problem.op, problem.reason);
        Diagnostic::error(problem.code(), message).with_help(Some(problem.hint.clone())).at(place)
    };
    problems.iter().map(part).collect()
}

fn model_place(error: &ImportError) -> ErrorLocation {
    match error {
        ImportError::Truncated { offset, .. } | ImportError::NotModel { offset, .. } => {
            ErrorLocation::offset(*offset)
        }
        _ => ErrorLocation::default(),
    }
}

fn description_place(error: &DecoderFileError) -> ErrorLocation {
    match error {
        DecoderFileError::Toml { line, column, .. } => ErrorLocation::text(*line, *column),
        DecoderFileError::NotText { offset } => ErrorLocation::offset(*offset),
        DecoderFileError::File { path, .. }
        | DecoderFileError::Format { path, .. }
        | DecoderFileError::Missing { path, .. }
        | DecoderFileError::Elements { path, .. }
        | DecoderFileError::Unused { path, .. } => ErrorLocation::file(path),
        _ => ErrorLocation::default(),
    }
}

/// Returns the place of an error in the model at `path`, or in a file of that folder.
fn checkpoint_place(path: &str, error: &LlmError) -> ErrorLocation {
    match error {
        LlmError::Gguf { offset, .. } => usize::try_from(*offset).map_or_else(
            |_| ErrorLocation::file(path),
            |offset| ErrorLocation::offset(offset).in_file(Some(path)),
        ),
        LlmError::Json { path: name, line, column, .. } => {
            ErrorLocation::text(*line, *column).in_file(Some(&format!("{path}/{name}")))
        }
        _ => ErrorLocation::file(path),
    }
}

/// Returns the faults that a target reports; empty for a single fault without details.
fn of_target(error: &TargetError) -> Vec<Diagnostic> {
    match error {
        TargetError::Refused(problems) => problems.iter().map(Diagnostic::from).collect(),
        TargetError::Differs(findings) => findings.iter().map(Diagnostic::from).collect(),
        TargetError::Text(faults) => of_text(&**faults),
        TargetError::File { file, fault } => of_any(error, &**fault, Some(file)),
        TargetError::Failed(fault) => of_any(error, &**fault, None),
        _ => Vec::new(),
    }
}

/// Returns every fault of a text.
fn of_text(faults: &dyn miette::Diagnostic) -> Vec<Diagnostic> {
    let text = faults.source_code();
    let related: Vec<&dyn miette::Diagnostic> = faults.related().into_iter().flatten().collect();
    if related.is_empty() {
        return vec![fault_of_text(faults, text)];
    }
    related.into_iter().map(|fault| fault_of_text(fault, fault.source_code().or(text))).collect()
}

fn fault_of_text(fault: &dyn miette::Diagnostic, text: Option<&dyn miette::SourceCode>) -> Diagnostic {
    let code = fault.code().map_or_else(|| INVALID_TEXT.to_owned(), |code| code.to_string());
    let first = fault.labels().into_iter().flatten().next();
    let place = first.zip(text).and_then(|(label, text)| place_in(text, label.offset()));
    let help = fault.help().map(|help| help.to_string());
    // Default: a fault of the whole text has no location.
    Diagnostic::error(&code, fault.to_string()).with_help(help).at(place.unwrap_or_default())
}

/// Code of a fault that has no code of its own.
const INVALID_TEXT: &str = "invalid-text";

/// Returns the position of byte `offset` in a text.
fn place_in(text: &dyn miette::SourceCode, offset: usize) -> Option<ErrorLocation> {
    let before = text.read_span(&(0, offset).into(), 0, 0).ok()?; // Default: no location if the offset is out of range.
    let place = ErrorLocation::of_byte(std::str::from_utf8(before.data()).ok()?, offset);
    Some(place.in_file(before.name()))
}

/// Returns the faults of an error of any type. `whole` is the error as a user sees it, `fault` is
/// the target's own cause.
fn of_any(whole: &TargetError, fault: &(dyn StdError + 'static), file: Option<&str>) -> Vec<Diagnostic> {
    let Diagnosis { code, place, faults } = recognize(fault).unwrap_or_else(|| unknown(whole.code()));
    let place = place.in_file(file);
    if faults.is_empty() {
        return vec![Diagnostic::error(code, chain(whole)).at(place)];
    }
    let one = |fault: Fault| {
        Diagnostic::error(fault.code, fault.message).at(fault.place.in_file(place.file.as_deref()))
    };
    faults.into_iter().map(one).collect()
}

fn unknown(code: &'static str) -> Diagnosis {
    Diagnosis { code, place: ErrorLocation::default(), faults: Vec::new() }
}

/// Identifies an error: the code comes from the innermost known cause, the location from the outer
/// ones.
fn recognize(error: &(dyn StdError + 'static)) -> Option<Diagnosis> {
    causes(error)
        .filter_map(|cause| kinds().find_map(|kind| kind.diagnose(cause)))
        .reduce(Diagnosis::caused_by)
}

/// Error types by which errors of targets are identified.
fn kinds() -> impl Iterator<Item = &'static ErrorKind> {
    OWN.iter().chain(targets().iter().flat_map(|target| target.errors))
}

/// Error types that every target may return.
static OWN: &[ErrorKind] = &[
    ErrorKind::of::<NpyError>(),
    ErrorKind::of::<OptionError>(),
    ErrorKind::of::<PortError>(),
    ErrorKind::of::<ReadError>(),
    ErrorKind::of::<ManifestError>(),
    ErrorKind::of::<SegmentError>(),
];

/// Returns an error, its causes and diagnostics as `--json` prints them.
pub fn described(error: &(dyn StdError + 'static), diagnostics: &[Diagnostic]) -> Value {
    let causes: Vec<String> = causes(error).skip(1).map(ToString::to_string).collect();
    json!({ "error": error.to_string(), "causes": causes, "diagnostics": diagnostics })
}

/// Returns every code that a diagnostic may have, except lint codes.
pub fn codes() -> Vec<Code> {
    let own = [
        Error::CODES,
        ImportError::CODES,
        NodeProblem::CODES,
        DecoderFileError::CODES,
        LlmError::CODES,
        SimulatorError::CODES,
        BoardError::CODES,
        BuildError::CODES,
        TargetError::CODES,
    ];
    let carried = kinds().map(|kind| kind.codes);
    let mut all: Vec<Code> = own.into_iter().chain(carried).flatten().copied().collect();
    all.sort();
    all.dedup();
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_means_one_thing() {
        let codes = codes();
        for pair in codes.windows(2) {
            assert_ne!(pair[0].name, pair[1].name, "{} means two things", pair[0].name);
        }
        let is_word = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-' || c == ':';
        assert!(codes.iter().all(|code| code.name.chars().all(is_word)), "{codes:?}");
    }

    #[test]
    fn causes_are_told_once() {
        let error = Error::Read(ReadError::Absent { path: "x".to_owned() });
        let messages = error.diagnostics();
        assert_eq!(messages.len(), 1);
        assert_eq!(
            (messages[0].code.as_str(), messages[0].place.file.as_deref()),
            ("no-such-file", Some("x"))
        );
        assert_eq!(messages[0].message, "cannot read `x`: there is no such file");
    }
}
