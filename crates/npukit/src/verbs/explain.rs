//! `npu explain`: terms, error codes, findings of lints and instructions, by name.

use npukit_base::{Code, closest};
use serde::Serialize;
use serde_json::Value;

use crate::Context;
use crate::error::Error;
use crate::targets::{resolve, targets};
use crate::verbs::glossary::{self, Entry, glossary};
use crate::verbs::lint::{Explained, lints};

/// Explanations of everything with a name.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// Terms of the glossary.
    pub terms: Vec<Entry>,
    /// Codes of errors.
    pub errors: Vec<ErrorCode>,
    /// Findings of lints.
    pub lints: Vec<Explained>,
    /// Instructions.
    pub instructions: Vec<Instruction>,
}

/// Code of an error, with its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct ErrorCode {
    /// Code, as in `code` of `--json`.
    pub code: &'static str,
    /// Meaning.
    pub meaning: &'static str,
}

/// Instruction of a target.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Instruction {
    /// Target and instance.
    pub target: String,
    /// Page of the reference, as `npu isa` prints it.
    pub page: Value,
    /// Page as text.
    #[serde(skip)]
    pub text: String,
}

impl Report {
    fn is_empty(&self) -> bool {
        self.terms.is_empty()
            && self.errors.is_empty()
            && self.lints.is_empty()
            && self.instructions.is_empty()
    }
}

/// Explains everything called `word`; a term may be given by its beginning, and labels of reports
/// as they are printed, such as `memory local` or `MatMul(zeroes)`. `target` selects the
/// findings and instructions of one target. `codes` are the codes of all errors.
///
/// # Errors
///
/// Returns [`Error::UnknownTerm`] if nothing has this name, and fails as [`resolve`] does.
pub fn explain(
    word: &str,
    target: Option<&str>,
    codes: &[Code],
    context: Context<'_>,
) -> Result<Report, Error> {
    let code = word.trim().to_lowercase();
    let is_it = |found: &&Code| found.name == code;
    let error = |found: &Code| ErrorCode { code: found.name, meaning: found.meaning };
    let all = lints(target)?;
    let (instructions, names) = instructions(word, target, context)?;
    let report = Report {
        // Default: other names remain.
        terms: glossary(Some(word)).map(|report| report.terms).unwrap_or_default(),
        errors: codes.iter().filter(is_it).map(error).collect(),
        lints: all.iter().copied().filter(|found| found.lint.code == code).collect(),
        instructions,
    };
    if !report.is_empty() {
        return Ok(report);
    }
    if let Some(report) = stem(word).and_then(|stem| explain(stem, target, codes, context).ok()) {
        return Ok(report);
    }
    let terms = glossary::beginning(word);
    if !terms.is_empty() {
        return Ok(Report { terms, ..report });
    }
    let mut known: Vec<&str> = glossary::terms().flat_map(|(_, term)| term.words()).collect();
    known.extend(codes.iter().map(|found| found.name));
    known.extend(all.iter().map(|found| found.lint.code));
    known.extend(names.iter().map(String::as_str));
    let meant = closest(word, known).map(str::to_owned);
    Err(Error::UnknownTerm { word: word.to_owned(), meant })
}

/// Returns the name in a label that has more than the name: a variant after `(` or a comma, the
/// numbers of a kernel, or the word memory. `None` for a name.
fn stem(label: &str) -> Option<&str> {
    if let Some(memory) = label.strip_prefix("memory ") {
        return Some(memory);
    }
    if let Some((name, _)) = label.split_once(['(', ',']) {
        return Some(name.trim()).filter(|name| !name.is_empty());
    }
    let (name, numbers) = label.rsplit_once('_')?;
    let is_count = |text: &str| !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit());
    numbers.split_once('x').is_some_and(|(one, other)| is_count(one) && is_count(other)).then_some(name)
}

/// Returns the instructions called `name`, and the names of all instructions.
fn instructions(
    name: &str,
    target: Option<&str>,
    context: Context<'_>,
) -> Result<(Vec<Instruction>, Vec<String>), Error> {
    let specs = target.map_or_else(|| targets().iter().map(|target| target.name).collect(), |one| vec![one]);
    let (mut found, mut names) = (Vec::new(), Vec::new());
    for spec in specs {
        let instance = resolve(spec, context.reader)?;
        // A target without an instruction set explains no instructions.
        let Ok(set) = instance.isa() else { continue };
        names.extend(set.names());
        let page = set.reference_of(name);
        let target = instance.info().name.clone();
        found.extend(page.map(|page| Instruction { target, page: page.json(), text: page.text() }));
    }
    Ok((found, names))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use npukit_target::NoFiles;

    use super::*;

    fn explained(word: &str, target: Option<&str>) -> Result<Report, Error> {
        explain(word, target, &crate::error_codes(), Context::new(&NoFiles))
    }

    #[test]
    fn every_kind_of_name_is_found() {
        assert_eq!(explained("saturation", None).unwrap().terms[0].term.word, "saturation");
        assert_eq!(explained("systol", None).unwrap().terms[0].term.word, "systolic array");
        assert_eq!(explained("open-dimensions", None).unwrap().errors.len(), 1);
        let target = crate::targets::default_target().name;
        let code = lints(Some(target)).unwrap()[0].lint.code;
        assert_eq!(explained(code, Some(target)).unwrap().lints.len(), 1);
        let (_, names) = instructions("", Some(target), Context::new(&NoFiles)).unwrap();
        assert_eq!(explained(&names[0], Some(target)).unwrap().instructions.len(), 1);
        assert!(!explained(&names[0], None).unwrap().instructions.is_empty());
    }

    #[test]
    fn labels_are_found_as_they_are_printed() {
        for (label, name) in [
            ("memory local", Some("local")),
            ("MatMul(zeroes)", Some("MatMul")),
            ("GEMM, bound by L2", Some("GEMM")),
            ("mac_nest_64x10", Some("mac_nest")),
            ("mac_nest", None),
            ("x_1x", None),
            ("(outside)", None),
        ] {
            assert_eq!(stem(label), name);
        }
        assert_eq!(explained("saturation (all)", None).unwrap().terms[0].term.word, "saturation");
    }

    #[test]
    fn an_unknown_name_is_refused_with_a_close_one() {
        let error = explained("open-dimension", None).unwrap_err();
        assert!(
            matches!(&error, Error::UnknownTerm { meant: Some(meant), .. } if meant == "open-dimensions")
        );
        assert!(explained("saturation", Some("gpu")).is_err());
    }
}
