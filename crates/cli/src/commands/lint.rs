//! The verb `npu lint`.

use clap::Args;
use clap_complete::ArgValueCandidates;
use npukit::report::{Finding, Lint};
use npukit::verbs::lint::{Explained, Report, explain, lint};

use crate::answer::Answer;
use crate::args::{StrictArgs, TARGET};
use crate::candidates::{lints, targets};
use crate::disk::settle;
use crate::failure::Failure;
use crate::printable::line;
use crate::requests::{context, strictly};
use crate::text::remarks;

/// Arguments of `npu lint`.
#[derive(Debug, Args)]
pub struct LintArgs {
    /// Artifact manifest, binary program, or assembly text
    #[arg(value_name = "PROGRAM_OR_ARTIFACT", required_unless_present = "explain")]
    pub path: Option<String>,
    /// Explain a finding, of every target or of the given one, as `npu explain CODE`
    #[arg(long, hide = true, value_name = "CODE", conflicts_with_all = ["path", "strict_draft"], add = ArgValueCandidates::new(lints))]
    pub explain: Option<String>,
    /// Accelerator, as NAME, NAME:PRESET or NAME:FILE
    ///
    /// `npu targets` lists them; an artifact specifies its own. Without the option, `NPU_TARGET` or
    /// npu.toml selects the target.
    #[arg(long, value_name = "TARGET", help_heading = TARGET, add = ArgValueCandidates::new(targets))]
    pub target: Option<String>,
    #[command(flatten)]
    #[allow(missing_docs, reason = "its fields are the options")]
    pub strict: StrictArgs,
}

/// Characters per line of an explanation.
const WIDTH: usize = 80;

pub fn run(args: &LintArgs) -> Result<Answer, Failure> {
    if let Some(code) = &args.explain {
        return explained(code, args.target.as_deref());
    }
    // Default: without a code there is a path.
    let path = args.path.as_deref().unwrap_or_default();
    settle(path);
    let target = strictly(&args.target, &args.strict)?;
    let report = lint(path, target.as_deref(), context())?;
    let notes = remarks(&report.notes, &report.warnings);
    Ok(Answer::new(text(&report), &report).with_notes(notes).with_success(report.is_clean()))
}

fn explained(code: &str, target: Option<&str>) -> Result<Answer, Failure> {
    let report = explain(code, target)?;
    let entries: Vec<String> = report.lints.iter().map(entry).collect();
    Ok(Answer::new(entries.join("\n"), &report))
}

/// Formats the code, its short description, and the explanation below.
pub(super) fn entry(Explained { target, lint, .. }: &Explained) -> String {
    let of = target.map_or_else(String::new, |target| format!(" of {target}"));
    let Lint { code, severity, meaning, explanation, .. } = lint;
    let margin = textwrap::Options::new(WIDTH).initial_indent("    ").subsequent_indent("    ");
    format!("{}[{code}]{of}: {meaning}\n{}\n", severity.name(), textwrap::fill(explanation, margin))
}

fn text(report: &Report) -> String {
    let mut text: String = report
        .findings
        .iter()
        .zip(&report.excerpts)
        .map(|(finding, excerpt)| message(finding, excerpt.as_deref()))
        .collect();
    let errors = report.findings.iter().filter(|finding| finding.is_error()).count();
    text += &match (report.findings.len(), errors) {
        (0, _) => "nothing found\n".to_owned(),
        (all, errors) => format!("{all} found, {errors} of them errors\n"),
    };
    text
}

fn message(finding: &Finding, excerpt: Option<&str>) -> String {
    let severity = finding.severity.name();
    let place = finding.instruction.map_or_else(String::new, |index| format!("instruction {index}"));
    let layer = finding.layer.as_ref().map_or_else(String::new, |layer| format!(" (layer `{layer}`)"));
    let separator = if place.is_empty() && layer.is_empty() { "" } else { ": " };
    if let Some(excerpt) = excerpt {
        return format!("{severity}[{}]: {place}{layer}{separator}{excerpt}\n", finding.code);
    }
    line(&format!("{severity}[{}]: {place}{layer}{separator}{}", finding.code, finding.message))
}
