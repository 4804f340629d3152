//! [`Diagnostic`]: one thing that is wrong, for programs.

use std::error::Error as StdError;
use std::iter::successors;

use npukit_base::Coded;
use npukit_import::onnx::NodeProblem;
use npukit_target::{Finding, Place, Problem, Severity};
use serde::Serialize;

/// One thing that is wrong, and where.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Diagnostic {
    /// What it is: a word that stays the same, of `docs/errors.md` or, for findings in programs, of `npu lint`.
    pub code: String,
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong, with the numbers.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// Where it is, as far as that is known.
    #[serde(flatten)]
    pub place: Place,
}

impl Diagnostic {
    /// An error somewhere.
    pub fn error(code: &str, message: impl Into<String>) -> Self {
        let (code, message) = (code.to_owned(), message.into());
        Self { code, severity: Severity::Error, message, help: None, place: Place::default() }
    }

    /// All that is to say of an error that is one thing.
    pub fn of(code: &str, error: &(dyn miette::Diagnostic + 'static)) -> Self {
        let help = error.help().map(|help| help.to_string());
        Self::error(code, chain(error)).with_help(help)
    }

    /// The same with what to do about it.
    #[must_use]
    pub fn with_help(self, help: Option<String>) -> Self {
        Self { help, ..self }
    }

    /// The same at a place.
    #[must_use]
    pub fn at(self, place: Place) -> Self {
        Self { place, ..self }
    }
}

impl From<&Problem> for Diagnostic {
    fn from(problem: &Problem) -> Self {
        let Problem { node, op, reason, hint } = problem;
        let place = Place::node(node);
        Self::error(NODE, format!("{op}: {reason}")).with_help(Some(hint.clone())).at(place)
    }
}

impl From<&Finding> for Diagnostic {
    fn from(finding: &Finding) -> Self {
        let Finding { code, severity, instruction, line, layer, message, .. } = finding;
        let mut place = Place::of_instruction(*instruction, layer.as_deref());
        place.line = *line;
        Self { severity: *severity, ..Self::error(code, message) }.at(place)
    }
}

/// The code of a node that cannot be compiled, too.
const NODE: &str = <NodeProblem as Coded>::CODES[0].name;

/// An error and its causes.
pub(crate) fn causes<'a>(
    error: &'a (dyn StdError + 'static),
) -> impl Iterator<Item = &'a (dyn StdError + 'static)> {
    successors(Some(error), |error| (*error).source())
}

/// An error and its causes as a sentence.
pub(crate) fn chain(error: &(dyn StdError + 'static)) -> String {
    let mut texts: Vec<String> = causes(error).map(ToString::to_string).collect();
    texts.dedup();
    texts.join(": ")
}
