//! [`Finding`]: what `npu lint` says of a program, with the keys of its `--json`.

use serde::Serialize;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, schemars::JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Runs, but hardly as meant.
    Warning,
    /// Hardware computes something else than the instructions say one after the other, or cannot run it.
    Error,
}

/// Something wrong with a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct Finding {
    /// What kind it is, as `lost-addition`: the same word in every program.
    pub code: &'static str,
    /// How bad it is.
    pub severity: Severity,
    /// Index of the instruction in the program, from 0; none when it is the whole program's.
    pub instruction: Option<usize>,
    /// Layer of the instruction; none when the program does not know.
    pub layer: Option<String>,
    /// What is wrong, with the numbers, and what to do.
    pub message: String,
}

impl Finding {
    /// Whether hardware would not do what the program says.
    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}
