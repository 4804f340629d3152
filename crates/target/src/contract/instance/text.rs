//! [`Assembled`] and [`Disassembled`]: words from text, and text from words.

use npukit_asm::analysis::LanguageError;
use npukit_asm::{Assembly, Disassembly, ListingLine};

use crate::error::TargetError;
use crate::lint::{Finding, Lint, Linted};

/// A program made from text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Assembled {
    /// The words in file order.
    pub bytes: Vec<u8>,
    /// How many instructions there are.
    pub instructions: usize,
    /// What hardware would not do as written, with the place of each.
    pub warnings: Vec<String>,
    /// The text, and everything that is wrong with it.
    pub linted: Linted,
}

impl Assembled {
    /// A text's words, with the findings of its words that it does not allow. `lints` are those of its target.
    pub fn new(mut assembly: Assembly, findings: Vec<Finding>, lints: &[&Lint]) -> Self {
        let bytes = std::mem::take(&mut assembly.bytes);
        let linted = Linted::new(assembly.into(), findings, lints);
        let (instructions, warnings) = (linted.text.places.len(), linted.warnings(lints));
        Self { bytes, instructions, warnings, linted }
    }
}

/// A program as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disassembled {
    /// The listing.
    pub text: String,
    /// How many instructions there are.
    pub instructions: usize,
    /// Words without meaning and the like, each with its place.
    pub problems: Vec<String>,
    /// The lines of the listing, a line of each instruction in the order of the program; empty for a form that takes no
    /// comments behind them.
    pub lines: Vec<ListingLine>,
}

impl Disassembled {
    /// The same program in a form that takes no comments.
    #[must_use]
    pub fn in_form(self, text: String) -> Self {
        Self { text, lines: Vec::new(), ..self }
    }
}

/// The listing that assembles again.
impl From<&Disassembly> for Disassembled {
    fn from(own: &Disassembly) -> Self {
        let problems = own.problems.iter().map(ToString::to_string).collect();
        Self { text: own.to_string(), instructions: own.lines.len(), problems, lines: own.listing() }
    }
}

/// The error of a language about a text.
pub(super) fn text_error(error: LanguageError) -> TargetError {
    match error {
        LanguageError::Text(error) => TargetError::Text(error),
        LanguageError::None(reason) => TargetError::failed(reason),
    }
}
