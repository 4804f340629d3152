//! `npu lsp`

use crate::answer::Answer;
use crate::args::LspArgs;
use crate::disk::take_standard_output;
use crate::editor::Editor;
use crate::failure::Failure;
use crate::parts::{Parts, hand_over, missing, program};

pub fn run(args: &LspArgs, parts: Option<&Parts>) -> Result<Answer, Failure> {
    let Some(parts) = parts else {
        return hand_over(program().ok_or_else(|| Failure::Editor(missing().into()))?);
    };
    // It is the editor's.
    take_standard_output();
    (parts.lsp)(&Editor::new(args.target.clone())).map_err(Failure::Editor)?;
    Ok(Answer::new(String::new(), &serde_json::json!({})))
}
