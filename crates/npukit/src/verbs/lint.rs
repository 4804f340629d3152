//! `npu lint`: what is wrong with a program, before anything runs it.

use npukit_target::{Finding, Instance, ProgramText, program_text};
use serde::Serialize;

use crate::Context;
use crate::diagnostics::Diagnostic;
use crate::error::Error;
use crate::program::Program;
use crate::source_map::Beside;
use crate::targets::{Artifact, load, resolve};

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
    /// What was taken for granted.
    pub notes: Vec<String>,
    /// Of each finding, its message below the line of the text that it is about, where that is known.
    #[serde(skip)]
    pub excerpts: Vec<Option<String>>,
}

impl Report {
    fn new(path: &str, target: String, findings: Vec<Finding>, warnings: Vec<String>) -> Self {
        let of_path = |finding: &Finding| {
            let found = Diagnostic::from(finding);
            Diagnostic { place: found.place.clone().in_file(Some(path)), ..found }
        };
        let diagnostics = findings.iter().map(of_path).collect();
        let excerpts = vec![None; findings.len()];
        Self { target, findings, diagnostics, warnings, notes: Vec::new(), excerpts }
    }

    /// The same with the lines of the text that the program was made of.
    fn with_text(mut self, text: &ProgramText) -> Self {
        let Self { findings, diagnostics, excerpts, .. } = &mut self;
        for ((finding, diagnostic), excerpt) in findings.iter().zip(diagnostics).zip(excerpts) {
            let Some(&place) = finding.instruction.and_then(|index| text.places.get(index)) else { continue };
            let (file, line, column) = text.sources.position_of(place);
            diagnostic.place.file = Some(file.to_owned());
            (diagnostic.place.line, diagnostic.place.column) = (Some(line), Some(column));
            *excerpt = Some(text.sources.excerpt(place, &finding.message));
        }
        self
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
    if let Some(Artifact { target: own, compiled }) = load(path, context.reader)? {
        let (found, given) = (compiled.report().target, target.unwrap_or(own.name()));
        if given.split(':').next() != Some(own.name()) {
            return Err(Error::NeedlessTarget { path: path.to_owned() });
        }
        return Ok(Report::new(path, found, compiled.lint()?, Vec::new()));
    }
    let instance = resolve(target.ok_or(Error::NoTarget)?, context.reader)?;
    let bytes = context.reader.read(path)?;
    let assembled = match program_text(&bytes) {
        Some(text) => match instance.assemble(path, text, context.reader) {
            Ok(assembled) => Some(assembled.bytes),
            // A target's words may be text, too.
            Err(_) if are_words(&*instance, &bytes) => None,
            Err(error) => return Err(error.into()),
        },
        None => None,
    };
    let findings = match program_text(&bytes) {
        // A text says more than its words: what fills memories, and where the host waits.
        Some(text) if assembled.is_some() => instance.lint_text(path, text, context.reader)?,
        _ => instance.lint(path, &bytes)?,
    };
    let report = Report::new(path, instance.name(), findings, instance.warnings());
    if report.findings.is_empty() {
        return Ok(report);
    }
    if assembled.is_some() {
        // Without a machine that takes the program, its findings have no lines.
        let program = instance.hand_program(path, &bytes, context.reader).ok();
        return Ok(match program {
            Some(program) => report.with_text(program.text()),
            None => report,
        });
    }
    let Beside { text, note } = Beside::of(path, &bytes, context.reader);
    let report = Report { notes: note.into_iter().collect(), ..report };
    Ok(match text {
        Some(text) => report.with_text(&text),
        None => report,
    })
}

/// Lints a program that is there already.
///
/// # Errors
///
/// [`Error::Target`] for a target without a lint.
pub fn lint_program(program: &Program) -> Result<Report, Error> {
    let (target, findings) = (program.report().target, program.lint()?);
    let diagnostics = findings.iter().map(Diagnostic::from).collect();
    let excerpts = vec![None; findings.len()];
    Ok(Report { target, findings, diagnostics, warnings: program.warnings(), notes: Vec::new(), excerpts })
}

/// Whether all of it is instructions.
fn are_words(instance: &dyn Instance, bytes: &[u8]) -> bool {
    // Default: a target without listings takes no form, and so has no words.
    let form = instance.listings().first().copied().unwrap_or_default();
    instance.disassemble(bytes, form).is_ok_and(|listing| listing.problems.is_empty())
}
