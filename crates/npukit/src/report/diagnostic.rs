//! [`Diagnostic`]: one error or warning, as data for programs.

use std::error::Error as StdError;
use std::iter::successors;

use npukit_base::Coded;
use npukit_import::onnx::NodeProblem;
use npukit_target::{ErrorLocation, Finding, Problem, Severity};
use serde::Serialize;

/// Error or warning, and its location.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Diagnostic {
    /// Stable code, as listed in `docs/errors.md` or, for lint findings, by `npu lint`.
    pub code: String,
    /// Severity of the diagnostic.
    pub severity: Severity,
    /// Description of the problem, with the values that were found.
    pub message: String,
    /// Advice on what to do, if any.
    pub help: Option<String>,
    /// Location, as far as it is known.
    #[serde(flatten)]
    pub place: ErrorLocation,
}

impl Diagnostic {
    /// Creates an error without a location.
    pub fn error(code: &str, message: impl Into<String>) -> Self {
        let (code, message) = (code.to_owned(), message.into());
        Self { code, severity: Severity::Error, message, help: None, place: ErrorLocation::default() }
    }

    /// Creates a diagnostic from an error that has a single fault.
    pub fn of(code: &str, error: &(dyn miette::Diagnostic + 'static)) -> Self {
        let help = error.help().map(|help| help.to_string());
        Self::error(code, chain(error)).with_help(help)
    }

    /// Adds advice.
    #[must_use]
    pub fn with_help(self, help: Option<String>) -> Self {
        Self { help, ..self }
    }

    /// Adds a location.
    #[must_use]
    pub fn at(self, place: ErrorLocation) -> Self {
        Self { place, ..self }
    }
}

impl From<&Problem> for Diagnostic {
    fn from(problem: &Problem) -> Self {
        let Problem { node, op, reason, hint } = problem;
        let place = ErrorLocation::node(node);
        Self::error(NODE, format!("{op}: {reason}")).with_help(Some(hint.clone())).at(place)
    }
}

impl From<&Finding> for Diagnostic {
    fn from(finding: &Finding) -> Self {
        let Finding { code, severity, instruction, line, layer, message, .. } = finding;
        let mut place = ErrorLocation::of_instruction(*instruction, layer.as_deref());
        place.line = *line;
        Self { severity: *severity, ..Self::error(code, message) }.at(place)
    }
}

/// Code of a node that cannot be imported, also used for nodes that cannot be compiled.
const NODE: &str = <NodeProblem as Coded>::CODES[0].name;

/// Returns an error and its causes, outermost first.
pub(crate) fn causes<'a>(
    error: &'a (dyn StdError + 'static),
) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    successors(Some(error), |error| (*error).source())
}

/// Formats an error and its causes as a sentence.
pub(crate) fn chain(error: &(dyn StdError + 'static)) -> String {
    let mut texts: Vec<String> = causes(error).map(ToString::to_string).collect();
    texts.dedup();
    texts.join(": ")
}
