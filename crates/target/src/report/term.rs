//! [`Term`]: an entry of `npu explain`.

use serde::Serialize;

/// A term and its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Term {
    /// The term, in the singular.
    pub word: &'static str,
    /// Synonyms of the term.
    pub also: &'static [&'static str],
    /// Meaning, in a sentence or two.
    pub meaning: &'static str,
}

impl Term {
    /// Creates an entry of a glossary.
    pub const fn new(word: &'static str, also: &'static [&'static str], meaning: &'static str) -> Self {
        Self { word, also, meaning }
    }

    /// Returns whether `word` is this term or a synonym. Case, plural and separators between the
    /// parts of a word are ignored.
    ///
    /// ```
    /// # use npukit_target::Term;
    /// let term = Term::new("systolic array", &["matrix engine"], "");
    /// assert!(term.is_called("Systolic-Arrays") && term.is_called("matrix_engine"));
    /// assert!(!term.is_called("array"));
    /// ```
    pub fn is_called(&self, word: &str) -> bool {
        self.words().any(|own| bare(own) == bare(word))
    }

    /// Returns whether this term or a synonym begins with `word`. Case and separators are ignored.
    pub fn begins_with(&self, word: &str) -> bool {
        self.words().any(|own| letters(own).starts_with(&letters(word)))
    }

    /// Returns the term and its synonyms.
    pub fn words(&self) -> impl Iterator<Item = &'static str> + use<> {
        std::iter::once(self.word).chain(self.also.iter().copied())
    }
}

/// Returns a word without case and separators.
fn letters(word: &str) -> String {
    word.trim().to_lowercase().replace(['-', '_', ' '], "")
}

/// Returns a word without case, separators and plural.
fn bare(word: &str) -> String {
    let letters = letters(word);
    let stem = letters.strip_suffix("ies").map(|stem| format!("{stem}y"));
    stem.unwrap_or_else(|| letters.trim_end_matches(['s', 'e']).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plurals_and_case_do_not_count() {
        for (one, other) in [
            ("memory", "Memories"),
            ("bias", "biases"),
            ("bus", "BUSES"),
            ("cache", "caches"),
            ("DRAM0", "dram0"),
            ("host step", "host-steps"),
        ] {
            assert_eq!(bare(one), bare(other), "{one}");
        }
        assert_ne!(bare("tile"), bare("tick"));
    }
}
