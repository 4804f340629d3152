//! `npu isa`

use npukit::verbs::isa::isa;

use super::{context, remarks};
use crate::answer::Answer;
use crate::args::{IsaArgs, PageFormat};
use crate::failure::Failure;

pub fn run(args: &IsaArgs) -> Result<Answer, Failure> {
    let page = isa(&args.target, args.instruction.as_deref(), context())?;
    let text = match args.format {
        PageFormat::Text => page.text,
        PageFormat::Markdown => page.markdown,
        PageFormat::Json => format!("{:#}\n", page.json),
    };
    Ok(Answer::new(text, &page.json).with_notes(remarks(&[], &page.warnings)))
}
