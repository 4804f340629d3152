//! `npu lint`: what is wrong with a program, before anything runs it.

use npukit_target::{Finding, Instance};
use serde::Serialize;

use crate::Context;
use crate::diagnostics::Diagnostic;
use crate::error::Error;
use crate::targets::{artifact_target, resolve};

/// What is wrong with a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[non_exhaustive]
pub struct Report {
    /// Target and instance.
    pub target: String,
    /// In the order of the program's instructions.
    pub findings: Vec<Finding>,
    /// The findings again, in the form of all errors.
    pub diagnostics: Vec<Diagnostic>,
    /// What the author of the instance should know of.
    pub warnings: Vec<String>,
}

impl Report {
    fn new(path: &str, target: String, findings: Vec<Finding>, warnings: Vec<String>) -> Self {
        let of_path = |finding: &Finding| {
            let found = Diagnostic::from(finding);
            Diagnostic { place: found.place.clone().in_file(Some(path)), ..found }
        };
        let diagnostics = findings.iter().map(of_path).collect();
        Self { target, findings, diagnostics, warnings }
    }

    /// Whether hardware does what the program says.
    pub fn is_clean(&self) -> bool {
        !self.findings.iter().any(Finding::is_error)
    }
}

/// Lints the artifact, the words or the assembly text at `path`. An artifact knows its target; given one anyway,
/// it must be the artifact's own.
///
/// # Errors
///
/// [`Error::Read`] for files that cannot be read; [`Error::Target`] with all of the text or words that are
/// not of the instruction set.
pub fn lint(path: &str, target: Option<&str>, context: Context<'_>) -> Result<Report, Error> {
    if let Some(own) = artifact_target(path) {
        let compiled = own.load(path, context.reader)?;
        let (found, given) = (compiled.report().target, target.unwrap_or(own.name()));
        if given.split(':').next() != Some(own.name()) {
            return Err(Error::NeedlessTarget { path: path.to_owned() });
        }
        return Ok(Report::new(path, found, compiled.lint()?, Vec::new()));
    }
    let instance = resolve(target.ok_or(Error::NoTarget)?, context.reader)?;
    let bytes = context.reader.read(path)?;
    let findings = match std::str::from_utf8(&bytes) {
        Ok(text) if is_text(text) => match instance.lint_text(path, text, context.reader) {
            Ok(findings) => findings,
            // A target's words may be text, too.
            Err(_) if are_words(&*instance, &bytes) => instance.lint(path, &bytes)?,
            Err(error) => return Err(error.into()),
        },
        _ => instance.lint(path, &bytes)?,
    };
    let warnings = instance.warnings();
    Ok(Report::new(path, instance.name(), findings, warnings))
}

/// Whether all of it is instructions.
fn are_words(instance: &dyn Instance, bytes: &[u8]) -> bool {
    // Default: a target without listings takes no form, and so has no words.
    let form = instance.listings().first().copied().unwrap_or_default();
    instance.disassemble(bytes, form).is_ok_and(|listing| listing.problems.is_empty())
}

/// Whether a person could have written it: words are full of zeroes and other control characters.
fn is_text(text: &str) -> bool {
    !text.contains(|c: char| c.is_control() && !c.is_whitespace())
}
