//! Findings of `npu lint`. [`Finding`] has the keys of `--json`, [`Lint`] is a kind of finding, and
//! [`Linted`] holds the findings of a text, except allowed ones.

mod allow;
mod kind;
mod linted;
mod raw;
mod writers;

use serde::Serialize;

pub use allow::text_target;
pub use kind::Lint;
pub use linted::{LINTS_OF_TEXTS, Linted};
pub use raw::raw_numbers;
pub use writers::{Overwritten, Writers};

/// Severity of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// The program runs, but probably not as intended.
    Warning,
    /// Hardware cannot run the program, or deviates from the sequential execution of its
    /// instructions.
    Error,
}

impl Severity {
    /// Returns the lowercase name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// A problem found in a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Finding {
    /// Kind of the finding, for example `lost-addition`; stable across programs. `npu lint
    /// --explain` describes each kind.
    pub code: &'static str,
    /// Severity of the finding.
    pub severity: Severity,
    /// Index of the instruction in the program, starting at 0. `None` if the finding concerns the
    /// whole program.
    pub instruction: Option<usize>,
    /// Line of the instruction in the source text, starting at 1, in the file that `diagnostics`
    /// names. `None` for words and artifacts, which have no text.
    pub line: Option<usize>,
    /// Layer of the instruction; `None` if the program does not record layers.
    pub layer: Option<String>,
    /// Description of the problem with its numbers, and a remedy.
    pub message: String,
}

impl Finding {
    /// Creates a finding of a kind from the target's table, without line and layer.
    pub fn new(lint: &'static Lint, severity: Severity, instruction: Option<usize>, message: String) -> Self {
        Self { code: lint.code, severity, instruction, line: None, layer: None, message }
    }

    /// Returns whether the finding is an error.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}
