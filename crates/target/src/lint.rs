//! [`Finding`]: what `npu lint` says of a program, with the keys of its `--json`. [`Lint`] is a kind of them, and
//! [`Linted`] are those of a text, without what the text allows.

mod allow;
mod kind;
mod linted;
mod writers;

use serde::Serialize;

pub use allow::text_target;
pub use kind::Lint;
pub use linted::{LINTS_OF_TEXTS, Linted};
pub use writers::{Overwritten, Writers};

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Runs, but hardly as meant.
    Warning,
    /// Hardware computes something else than the instructions say one after the other, or cannot run it.
    Error,
}

impl Severity {
    /// The word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// Something wrong with a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Finding {
    /// What kind it is, as `lost-addition`: the same word in every program. `npu lint --explain` has a paragraph on each.
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// Index of the instruction in the program, from 0; none when it is the whole program's.
    pub instruction: Option<usize>,
    /// Line of the text that the instruction comes from, from 1, in the file that `diagnostics` names; none for words
    /// and artifacts, which have no text.
    pub line: Option<usize>,
    /// Layer of the instruction; none when the program does not know.
    pub layer: Option<String>,
    /// What is wrong, with the numbers, and what to do.
    pub message: String,
}

impl Finding {
    /// A finding of a kind, which is in the table of its target. It has neither line nor layer yet.
    pub fn new(lint: &'static Lint, severity: Severity, instruction: Option<usize>, message: String) -> Self {
        Self { code: lint.code, severity, instruction, line: None, layer: None, message }
    }

    /// Whether hardware would not do what the program says.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}
