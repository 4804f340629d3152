//! `npu glossary`: terms of the field, of npukit and of its targets.

use npukit_base::closest;
use npukit_target::Term;
use serde::Serialize;

use crate::error::Error;
use crate::glossary::TERMS;
use crate::targets::targets;

/// Explanation of a term.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Entry {
    /// Target that the term belongs to; `None` for general terms.
    pub target: Option<&'static str>,
    /// Term with its explanation.
    #[serde(flatten)]
    pub term: Term,
}

/// Explanations of terms.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Report {
    /// Terms in alphabetical order; for each term, the general meaning first.
    pub terms: Vec<Entry>,
}

/// Returns every term with the target it belongs to, in alphabetical order.
pub fn terms() -> impl Iterator<Item = (Option<&'static str>, &'static Term)> {
    let own = TERMS.iter().map(|term| (None, term));
    let of_targets =
        targets().iter().flat_map(|target| target.terms.iter().map(|term| (Some(target.name), term)));
    let mut all: Vec<_> = own.chain(of_targets).collect();
    all.sort_by_key(|(_, term)| term.word.to_lowercase());
    all.into_iter()
}

/// Returns the meanings of `word`, or all terms.
///
/// # Errors
///
/// Returns [`Error::UnknownTerm`] for an unknown word.
pub fn glossary(word: Option<&str>) -> Result<Report, Error> {
    let is_meant = |term: &Term| word.is_none_or(|word| term.is_called(word));
    let found = terms().filter(|(_, term)| is_meant(term));
    let terms: Vec<Entry> = found.map(|(target, term)| Entry { target, term: *term }).collect();
    match word {
        Some(word) if terms.is_empty() => Err(unknown(word)),
        _ => Ok(Report { terms }),
    }
}

/// Returns the terms that begin with `word`, whatever its case and separators.
pub(crate) fn beginning(word: &str) -> Vec<Entry> {
    terms()
        .filter(|(_, term)| term.begins_with(word))
        .map(|(target, term)| Entry { target, term: *term })
        .collect()
}

fn unknown(word: &str) -> Error {
    let words = terms().flat_map(|(_, term)| term.words());
    Error::UnknownTerm { word: word.to_owned(), meant: closest(word, words).map(str::to_owned) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn words_are_found_however_they_are_written() {
        let words = |word| glossary(Some(word)).unwrap().terms.iter().map(|entry| entry.term.word).collect();
        let one = |word| -> Vec<&str> { words(word) };
        assert_eq!(one("Systolic-Arrays"), ["systolic array"]);
        assert_eq!(one("macs"), ["MAC"]);
        assert_eq!(one("quantize"), ["quantization"]);
        // Names that reports print.
        for (printed, word) in [
            ("rounded to zero", "underflow"),
            ("certified error", "certified error"),
            ("cycles with products", "cycles with products"),
            ("fps", "frames per second"),
            ("local-consts", "strategy"),
            ("FP16BP8", "fixed point"),
            ("vs roofline", "roofline"),
            ("argmax agrees", "argmax"),
            ("I8", "I8"),
            ("FPGAs", "FPGA"),
        ] {
            assert_eq!(one(printed), [word]);
        }
    }

    /// The table of units shows other busy cycles of the array than the headline.
    #[test]
    fn cycles_with_products_are_not_the_busy_cycles_of_a_unit() {
        assert!(glossary(Some("array busy")).is_err());
        let entry = glossary(Some("cycles with products")).unwrap().terms[0];
        assert!(entry.term.meaning.contains("table of units"), "{entry:?}");
    }

    #[test]
    fn the_general_meaning_comes_first() {
        let of = |word| glossary(Some(word)).unwrap().terms;
        let stride = of("stride");
        assert!(stride.len() > 1 && stride[0].target.is_none(), "{stride:?}");
        assert!(stride[1..].iter().all(|entry| entry.target.is_some()));
    }

    #[test]
    fn a_misspelt_word_is_known() {
        let error = glossary(Some("saturatoin")).unwrap_err();
        assert!(matches!(&error, Error::UnknownTerm { meant: Some(meant), .. } if meant == "saturation"));
        assert!(error.is_usage());
        assert!(matches!(glossary(Some("hovercraft")), Err(Error::UnknownTerm { meant: None, .. })));
    }

    /// Checks `docs/glossary.md`, which contains every term. `NPUKIT_BLESS=1` writes it.
    #[test]
    fn every_word_is_documented() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/glossary.md");
        let of_targets = targets().iter().map(|target| section(target.name, target.terms));
        let page = format!(
            "{HEAD}{}",
            of_targets.fold(section("The field and npukit", TERMS), |all, one| all + &one)
        );
        if std::env::var("NPUKIT_BLESS").is_ok_and(|bless| bless == "1") {
            std::fs::write(path, &page).unwrap();
        }
        let found = std::fs::read_to_string(path).unwrap().replace("\r\n", "\n");
        assert_eq!(found, page, "NPUKIT_BLESS=1 writes docs/glossary.md");
    }

    const HEAD: &str = "\
# Glossary

Terms of the field, of npukit and of its targets. `npu explain` prints them all, `npu explain WORD` explains one.
";

    fn section(name: &str, terms: &[Term]) -> String {
        let row = |term: &Term| format!("| {} | {} | {} |\n", term.word, term.also.join(", "), term.meaning);
        let rows: String = terms.iter().map(row).collect();
        format!("\n## {name}\n\n| word | also | means |\n|---|---|---|\n{rows}")
    }

    /// Each list is sorted and has no duplicates, and every explanation is a sentence.
    #[test]
    fn the_tables_are_in_order() {
        let lists = targets().iter().map(|target| target.terms).chain([TERMS]);
        for list in lists {
            let words: Vec<String> = list.iter().map(|term| term.word.to_lowercase()).collect();
            assert!(words.is_sorted(), "{words:?}");
            for term in list {
                assert!(term.meaning.ends_with('.') && term.meaning.len() > 20, "{term:?}");
                for word in term.words() {
                    let called: Vec<&Term> = list.iter().filter(|other| other.is_called(word)).collect();
                    assert_eq!(called, [term], "{word}");
                }
            }
        }
        let words: BTreeSet<&str> = terms().map(|(_, term)| term.word).collect();
        assert!(words.len() >= 45, "{}", words.len());
    }
}
