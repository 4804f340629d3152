//! [`Checked`]: results of slow checks of a text, which need its instance: lints, schedules,
//! cycles. A separate thread computes them while the user does not type.

use std::sync::Arc;

use npukit_asm::SourceLocation;
use npukit_asm::analysis::TextFault;
use npukit_target::{Finding, Instance, Reader, TargetError, TimeOptions};

/// Text to check.
pub struct Job {
    /// URI of the text.
    pub uri: String,
    /// Version of the text that the editor assigned.
    pub version: i32,
    /// Path of the text.
    pub path: String,
    /// Whole text.
    pub text: Arc<str>,
    /// Instance that the text is for.
    pub instance: Arc<dyn Instance>,
}

/// Results of the slow checks of a text.
#[derive(Debug, Default)]
pub struct Checked {
    /// Version of the checked text.
    pub version: i32,
    /// Findings of the linter, each with its place.
    pub findings: Vec<(Finding, Option<SourceLocation>)>,
    /// Errors of the assembler or the scheduler.
    pub faults: Vec<TextFault>,
    /// Other warnings of the assembler, without a place.
    pub remarks: Vec<String>,
    /// Cycles of each instruction; empty if not timed.
    pub cycles: Vec<u64>,
}

/// Maximum number of instructions of a program that is timed.
const MAX_TIMED: usize = 100_000;

/// End of the assembler's note that it left findings out; all findings are shown here, so the note
/// is dropped.
const MORE: &str = "`npu lint` lists them";

/// Runs all slow checks of a text.
pub fn check(job: &Job, files: &dyn Reader) -> Checked {
    let mut found = Checked { version: job.version, ..Checked::default() };
    match job.instance.lint_text(&job.path, &job.text, files) {
        Ok(linted) => {
            let places = linted.places.into_iter();
            found.findings = linted.findings.into_iter().zip(places).collect();
            found.cycles = cycles(job, files);
        }
        Err(TargetError::Unsupported { .. }) => {}
        Err(error) => return Checked { faults: faults(&error), ..found },
    }
    match job.instance.assemble(&job.path, &job.text, files) {
        // The linter has already reported most warnings of the assembler.
        Ok(assembled) => found.remarks = assembled.warnings,
        Err(TargetError::Unsupported { .. }) => {}
        Err(error) => found.faults = faults(&error),
    }
    let findings = &found.findings;
    let is_reported =
        |remark: &String| findings.iter().any(|(finding, _)| remark.contains(finding.message.as_str()));
    found.remarks.retain(|remark| !is_reported(remark) && !remark.ends_with(MORE));
    found
}

/// Returns all faults that an error contains.
fn faults(error: &TargetError) -> Vec<TextFault> {
    let TargetError::Text(text) = error else {
        return vec![TextFault::of(error)];
    };
    let related: Vec<TextFault> = text.related().into_iter().flatten().map(TextFault::of).collect();
    if related.is_empty() { vec![TextFault::of(&**text)] } else { related }
}

/// Returns the cycles of each instruction if executed one after the other; empty if the target has
/// no such timing.
fn cycles(job: &Job, files: &dyn Reader) -> Vec<u64> {
    let timed = || {
        let program = job.instance.asm_program(&job.path, job.text.as_bytes(), files).ok()?; // Default: without timing.
        let count = program.text().places.len();
        if count == 0 || count > MAX_TIMED {
            return None;
        }
        let time = program.compiled().ok()?.time(&TimeOptions::default()).ok()?; // Default: without timing.
        let cycles: Vec<u64> = time.instructions.iter().map(|instruction| instruction.cycles).collect();
        (cycles.len() == count).then_some(cycles)
    };
    timed().unwrap_or_default() // Default: without timing.
}
