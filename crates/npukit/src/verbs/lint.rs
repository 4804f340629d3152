//! `npu lint`: finds errors in a program without running it. The kinds of findings are explained by
//! [`explain()`].

mod explain;

use npukit_target::{Finding, Instance, Linted, program_text};
use serde::Serialize;

use crate::Context;
use crate::error::Error;
use crate::model::program::Program;
use crate::model::source_map::SourceMapFile;
use crate::report::diagnostic::Diagnostic;
use crate::targets::{Artifact, load, resolve};
use crate::verbs::disasm::no_model;

pub use explain::{Explained, Explanations, explain, lints};

/// Report of a lint.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// Target and instance.
    pub target: String,
    /// Findings, in the order of the program's instructions.
    pub findings: Vec<Finding>,
    /// Findings in the form of all errors.
    pub diagnostics: Vec<Diagnostic>,
    /// Warnings for the author of the instance.
    pub warnings: Vec<String>,
    /// Assumptions that were made.
    pub notes: Vec<String>,
    /// For each finding, its message below the source line, if the line is known.
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

    /// Creates the report of a text: each finding with its line, and an excerpt.
    fn of_text(path: &str, target: String, linted: Linted, warnings: Vec<String>) -> Self {
        let Linted { text, findings, places, .. } = linted;
        let mut report = Self::new(path, target, findings, warnings);
        let Self { findings, diagnostics, excerpts, .. } = &mut report;
        for (((finding, diagnostic), excerpt), place) in
            findings.iter().zip(diagnostics).zip(excerpts).zip(places)
        {
            let Some(place) = place else { continue };
            let (file, line, column) = text.sources.position_of(place);
            diagnostic.place.file = Some(file.to_owned());
            (diagnostic.place.line, diagnostic.place.column) = (Some(line), Some(column));
            *excerpt = Some(text.sources.excerpt(place, &finding.message));
        }
        report
    }

    /// Whether the hardware executes the program as written.
    pub fn is_clean(&self) -> bool {
        !self.findings.iter().any(Finding::is_error)
    }
}

/// Lints the artifact, the words or the assembly text at `path`. An artifact contains its target;
/// if `target` is given as well, it must be the same.
///
/// # Errors
///
/// Returns [`Error::Read`] for files that cannot be read, [`Error::NotWords`] for a model, and
/// [`Error::Target`] with all invalid lines or words.
pub fn lint(path: &str, target: Option<&str>, context: Context<'_>) -> Result<Report, Error> {
    if let Some(Artifact { target: own, compiled }) = load(path, context.reader)? {
        let (found, given) = (compiled.report().target, target.unwrap_or(own.name));
        if given.split(':').next() != Some(own.name) {
            return Err(Error::NeedlessTarget { path: path.to_owned() });
        }
        return Ok(Report::new(path, found, compiled.lint()?, Vec::new()));
    }
    let bytes = context.reader.read(path)?;
    no_model(path, &bytes)?;
    let instance = resolve(target.ok_or(Error::NoTarget)?, context.reader)?;
    let linted = match program_text(&bytes) {
        Some(text) => match instance.lint_text(path, text, context.reader) {
            Ok(linted) => Some(linted),
            // A target's words may also be text.
            Err(_) if are_words(&*instance, &bytes) => None,
            Err(error) => return Err(error.into()),
        },
        None => None,
    };
    let (target, warnings) = (instance.info().name.clone(), instance.info().warnings.clone());
    if let Some(linted) = linted {
        return Ok(Report::of_text(path, target, linted, warnings));
    }
    let findings = instance.lint(path, &bytes, None)?;
    let SourceMapFile { text, note } = SourceMapFile::of(path, &bytes, context.reader);
    let report = match text {
        Some(text) => Report::of_text(path, target, Linted::of_words(text, findings), warnings),
        None => Report::new(path, target, findings, warnings),
    };
    Ok(Report { notes: note.into_iter().collect(), ..report })
}

/// Lints a program.
///
/// # Errors
///
/// Returns [`Error::Target`] for a target without a lint.
pub fn lint_program(program: &Program) -> Result<Report, Error> {
    let (target, findings) = (program.report().target, program.lint()?);
    let diagnostics = findings.iter().map(Diagnostic::from).collect();
    let excerpts = vec![None; findings.len()];
    Ok(Report { target, findings, diagnostics, warnings: program.warnings(), notes: Vec::new(), excerpts })
}

/// Whether all bytes are instructions.
fn are_words(instance: &dyn Instance, bytes: &[u8]) -> bool {
    // Default: a target without listings has no form, so it has no words.
    let form = instance.info().listings.first().copied().unwrap_or_default();
    instance.disassemble(bytes, form).is_ok_and(|listing| listing.problems.is_empty())
}
