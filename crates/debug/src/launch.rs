//! [`Launch`]: what an editor asks to be debugged.

use serde::Deserialize;

use crate::engine::Debugger;

/// What an editor launches: the arguments of its `launch` request.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase", default)]
pub struct Launch {
    /// The program: text, words, an artifact's manifest, or a model.
    pub program: String,
    /// Target and instance; an artifact knows its own.
    pub target: Option<String>,
    /// Of an artifact: its model, which is computed in float beside it.
    pub model: Option<String>,
    /// Inputs, as `[NAME=]FILE`.
    pub input: Vec<String>,
    /// What fills memories of a program in text or words, as `NAME[@ADDRESS]=FILE`.
    pub mem: Vec<String>,
    /// Whether it stops before its first step.
    pub stop_on_entry: bool,
}

/// Opens what is launched: a debugger, and what was taken for granted.
pub type Open<'a> = dyn Fn(&Launch) -> Result<(Debugger, Vec<String>), String> + 'a;
