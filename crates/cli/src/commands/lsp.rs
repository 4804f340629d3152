//! The verb `npu lsp`.

use clap::{Args, Command};
use clap_complete::ArgValueCandidates;

use crate::answer::Answer;
use crate::args::TARGET;
use crate::candidates::targets;
use crate::disk::take_standard_output;
use crate::editor::Editor;
use crate::failure::Failure;
use crate::parts::{Parts, hand_over, missing, program};

/// Arguments of `npu lsp`.
#[derive(Debug, Args)]
pub struct LspArgs {
    /// Target of texts that specify none, in folders without an npu.toml that does
    ///
    /// A text specifies it in a comment, as `; npu: target NAME:PRESET`. Without the option,
    /// `NPU_TARGET` or npu.toml selects the target.
    #[arg(long, value_name = "TARGET", help_heading = TARGET, add = ArgValueCandidates::new(targets))]
    pub target: Option<String>,
}

pub fn run(args: &LspArgs, parts: Option<&Parts>, command: fn() -> Command) -> Result<Answer, Failure> {
    let Some(parts) = parts else {
        return hand_over(program().ok_or_else(|| Failure::Editor(missing().into()))?);
    };
    // Standard output belongs to the editor.
    take_standard_output();
    (parts.lsp)(&Editor::new(args.target.clone(), command)).map_err(Failure::Editor)?;
    Ok(Answer::new(String::new(), &serde_json::json!({})))
}
