//! [`Checked`]: what is wrong with a text as its instance says, which takes longer than to read it: lints, schedules,
//! cycles. A thread of its own finds it while nobody types.

use std::sync::Arc;

use npukit_asm::Place;
use npukit_asm::analysis::TextFault;
use npukit_target::{Finding, Instance, Reader, TargetError, TimeOptions};

/// A text to be checked.
pub struct Job {
    /// Its name in the protocol.
    pub uri: String,
    /// The editor's count of its changes.
    pub version: i32,
    /// Its path.
    pub path: String,
    /// All of it.
    pub text: Arc<str>,
    /// What it is for.
    pub instance: Arc<dyn Instance>,
}

/// What was found.
#[derive(Debug, Default)]
pub struct Checked {
    /// Of which version.
    pub version: i32,
    /// What the linter finds, each with its place.
    pub findings: Vec<(Finding, Option<Place>)>,
    /// What the assembler or the scheduler refuses.
    pub faults: Vec<TextFault>,
    /// What else the assembler tells, of no place.
    pub remarks: Vec<String>,
    /// Cycles of each instruction, where they are told.
    pub cycles: Vec<u64>,
}

/// Programs of more instructions are not timed.
const MAX_TIMED: usize = 100_000;

/// How the assembler ends where it tells no more findings; here all of them are.
const MORE: &str = "`npu lint` lists them";

/// Checks a text.
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
        // Most of what it tells the linter has told.
        Ok(assembled) => found.remarks = assembled.warnings,
        Err(TargetError::Unsupported { .. }) => {}
        Err(error) => found.faults = faults(&error),
    }
    let findings = &found.findings;
    let is_told =
        |remark: &String| findings.iter().any(|(finding, _)| remark.contains(finding.message.as_str()));
    found.remarks.retain(|remark| !is_told(remark) && !remark.ends_with(MORE));
    found
}

/// Every fault that an error is.
fn faults(error: &TargetError) -> Vec<TextFault> {
    let TargetError::Text(text) = error else {
        return vec![TextFault::of(error)];
    };
    let related: Vec<TextFault> = text.related().into_iter().flatten().map(TextFault::of).collect();
    if related.is_empty() { vec![TextFault::of(&**text)] } else { related }
}

/// How long each instruction takes, were they one after the other; none where nobody tells.
fn cycles(job: &Job, files: &dyn Reader) -> Vec<u64> {
    let told = || {
        let program = job.instance.hand_program(&job.path, job.text.as_bytes(), files).ok()?; // Default: nobody tells.
        let count = program.text().places.len();
        if count == 0 || count > MAX_TIMED {
            return None;
        }
        let time = program.compiled().ok()?.time(&TimeOptions::default()).ok()?; // Default: nobody tells.
        let cycles: Vec<u64> = time.instructions.iter().map(|instruction| instruction.cycles).collect();
        (cycles.len() == count).then_some(cycles)
    };
    told().unwrap_or_default() // Default: nobody tells.
}
