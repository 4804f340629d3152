//! The verb `npu glossary`.

use clap::Args;
use clap_complete::ArgValueCandidates;
use npukit::verbs::glossary::{Entry, glossary};

use crate::answer::Answer;
use crate::candidates::terms;
use crate::failure::Failure;

/// Arguments of `npu glossary`.
#[derive(Debug, Args)]
pub struct GlossaryArgs {
    /// Term, as `saturation` or `systolic array`; by default all terms
    #[arg(value_name = "WORD", add = ArgValueCandidates::new(terms))]
    pub words: Vec<String>,
}

/// Characters per line.
pub(super) const WIDTH: usize = 80;

pub fn run(args: &GlossaryArgs) -> Result<Answer, Failure> {
    let word = args.words.join(" ");
    let report = glossary(Some(word.as_str()).filter(|_| !args.words.is_empty()))?;
    let entries: Vec<String> = report.terms.iter().map(entry).collect();
    Ok(Answer::new(entries.join("\n"), &report))
}

/// Formats a term with its synonyms, and below it the explanation.
pub(super) fn entry(Entry { target, term, .. }: &Entry) -> String {
    let of = target.map_or_else(String::new, |target| format!(" of {target}"));
    let also = if term.also.is_empty() { String::new() } else { format!(" (also {})", term.also.join(", ")) };
    let margin = textwrap::Options::new(WIDTH).initial_indent("    ").subsequent_indent("    ");
    format!("{}{of}{also}\n{}\n", term.word, textwrap::fill(term.meaning, margin))
}
