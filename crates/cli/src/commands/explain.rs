//! The verb `npu explain`.

use clap::Args;
use clap_complete::ArgValueCandidates;
use npukit::verbs::explain::{ErrorCode, Report, explain};
use npukit::verbs::glossary::glossary;

use super::glossary::{WIDTH, entry};
use super::lint;
use crate::answer::Answer;
use crate::args::TARGET;
use crate::candidates::{explained, targets};
use crate::failure::{self, Failure};
use crate::requests::context;
use crate::table::{Screen, folded_page};

/// Arguments of `npu explain`.
#[derive(Debug, Args)]
pub struct ExplainArgs {
    /// Term, error code, lint finding or instruction; by default all terms
    ///
    /// The beginning of a term is enough: `systolic`. Error codes are in `code` of --json, codes of
    /// findings in brackets in `npu lint`.
    #[arg(value_name = "NAME", add = ArgValueCandidates::new(explained))]
    pub words: Vec<String>,
    /// Explain findings and instructions of this target only
    ///
    /// `npu targets` lists targets. `NPU_TARGET` and npu.toml are ignored here.
    #[arg(long, value_name = "TARGET", help_heading = TARGET, add = ArgValueCandidates::new(targets))]
    pub target: Option<String>,
}

pub fn run(args: &ExplainArgs) -> Result<Answer, Failure> {
    let word = args.words.join(" ");
    let report = if args.words.is_empty() {
        let mut all = Report::default();
        all.terms = glossary(None)?.terms;
        all
    } else {
        explain(&word, args.target.as_deref(), &failure::codes(), context())?
    };
    Ok(Answer::new(text(&report), &report))
}

fn text(report: &Report) -> String {
    let terms = report.terms.iter().map(entry);
    let errors = report.errors.iter().map(error);
    let lints = report.lints.iter().map(lint::entry);
    let page = |text: &str| folded_page(text, Screen::current());
    let instructions =
        report.instructions.iter().map(|one| format!("instruction of {}\n{}", one.target, page(&one.text)));
    terms.chain(errors).chain(lints).chain(instructions).collect::<Vec<_>>().join("\n")
}

/// Formats the code of an error, and below it the meaning.
fn error(ErrorCode { code, meaning, .. }: &ErrorCode) -> String {
    let margin = textwrap::Options::new(WIDTH).initial_indent("    ").subsequent_indent("    ");
    format!("error code {code}\n{}\n", textwrap::fill(meaning, margin))
}
