//! `npu lint`

use npukit::report::{Finding, Severity};
use npukit::verbs::lint::{Report, lint};

use super::{context, remarks, strictly};
use crate::answer::Answer;
use crate::args::LintArgs;
use crate::disk::settle;
use crate::failure::Failure;
use crate::printable::line;

pub fn run(args: &LintArgs) -> Result<Answer, Failure> {
    settle(&args.path);
    let target = strictly(&args.target, &args.strict)?;
    let report = lint(&args.path, target.as_deref(), context())?;
    let notes = remarks(&report.notes, &report.warnings);
    Ok(Answer::new(text(&report), &report).with_notes(notes).with_success(report.is_clean()))
}

fn text(report: &Report) -> String {
    let mut text: String = report.findings.iter().zip(&report.excerpts).map(finding).collect();
    let errors = report.findings.iter().filter(|finding| finding.is_error()).count();
    text += &match (report.findings.len(), errors) {
        (0, _) => "nothing found\n".to_owned(),
        (all, errors) => format!("{all} found, {errors} of them errors\n"),
    };
    text
}

fn finding((finding, excerpt): (&Finding, &Option<String>)) -> String {
    let severity = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let place = finding.instruction.map_or_else(String::new, |index| format!("instruction {index}"));
    let layer = finding.layer.as_ref().map_or_else(String::new, |layer| format!(" (layer `{layer}`)"));
    let separator = if place.is_empty() && layer.is_empty() { "" } else { ": " };
    if let Some(excerpt) = excerpt {
        return format!("{severity}[{}]: {place}{layer}{separator}{excerpt}\n", finding.code);
    }
    line(&format!("{severity}[{}]: {place}{layer}{separator}{}", finding.code, finding.message))
}
