//! [`Launch`]: arguments with which an editor starts a debug session.

use serde::Deserialize;

use crate::engine::Debugger;

/// Arguments of an editor's `launch` request.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct Launch {
    /// Program: assembly text, binary words, an artifact's manifest, or a model.
    pub program: String,
    /// Target and instance; `None` for an artifact, which names its own.
    pub target: Option<String>,
    /// Model of an artifact, for its float reference.
    pub model: Option<String>,
    /// Inputs, as `[NAME=]FILE`.
    pub input: Vec<String>,
    /// Initial contents of memories for a program in text or words, as `NAME[@ADDRESS]=FILE`.
    pub mem: Vec<String>,
    /// Whether the program stops before its first step.
    pub stop_on_entry: bool,
}

/// Opens the program of a launch request: returns a debugger and notes on assumptions made.
pub type Open<'a> = dyn Fn(&Launch) -> Result<(Debugger, Vec<String>), String> + 'a;
