//! The verb `npu isa`.

use clap::{Args, ValueEnum};
use clap_complete::ArgValueCandidates;
use npukit::verbs::isa::isa;

use crate::answer::Answer;
use crate::args::OUTPUT;
use crate::candidates::{instructions, targets};
use crate::failure::Failure;
use crate::requests::context;
use crate::table::{Screen, folded_page};
use crate::text::remarks;

/// Arguments of `npu isa`.
#[derive(Debug, Args)]
pub struct IsaArgs {
    /// Accelerator, as NAME, NAME:PRESET or NAME:FILE
    ///
    /// `npu targets` lists them. `@SYSTEM` after a preset or a file selects one of its systems,
    /// `,NAME=VALUE` sets a parameter.
    #[arg(add = ArgValueCandidates::new(targets))]
    pub target: String,
    /// Print only this instruction, as `npu explain NAME --target TARGET`
    #[arg(hide = true, add = ArgValueCandidates::new(instructions))]
    pub instruction: Option<String>,
    /// Format of the page
    #[arg(long, help_heading = OUTPUT, value_enum, default_value_t)]
    pub format: PageFormat,
}

/// Format of a reference page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum PageFormat {
    /// For a terminal
    #[default]
    Text,
    /// Markdown, for a book
    Markdown,
    /// JSON, for programs
    Json,
}

pub fn run(args: &IsaArgs) -> Result<Answer, Failure> {
    let page = isa(&args.target, args.instruction.as_deref(), context())?;
    let text = match args.format {
        PageFormat::Text => folded_page(&page.text, Screen::current()),
        PageFormat::Markdown => page.markdown,
        PageFormat::Json => format!("{:#}\n", page.json),
    };
    Ok(Answer::new(text, &page.json).with_notes(remarks(&[], &page.warnings)))
}
