//! [`Assembled`] and [`Disassembled`]: results of assembling and disassembling.

use npukit_asm::analysis::LanguageError;
use npukit_asm::{Assembly, Disassembly, ListingLine};

use crate::error::TargetError;
use crate::lint::{Finding, Lint, Linted};

/// Result of assembling a text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Assembled {
    /// The words in file order.
    pub bytes: Vec<u8>,
    /// Number of instructions.
    pub instructions: usize,
    /// Warnings about deviations of the hardware from the text, each with its place.
    pub warnings: Vec<String>,
    /// The text and all its findings.
    pub linted: Linted,
}

impl Assembled {
    /// Creates the result from an assembly and the findings of its words; findings that the text
    /// allows are removed. `lints` are the target's.
    pub fn new(mut assembly: Assembly, findings: Vec<Finding>, lints: &[&Lint]) -> Self {
        let bytes = std::mem::take(&mut assembly.bytes);
        let linted = Linted::new(assembly.into(), findings, lints);
        let (instructions, warnings) = (linted.text.places.len(), linted.warnings(lints));
        Self { bytes, instructions, warnings, linted }
    }
}

/// Result of disassembling words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Disassembled {
    /// Text of the listing.
    pub text: String,
    /// Number of instructions.
    pub instructions: usize,
    /// Problems such as invalid words, each with its place.
    pub problems: Vec<String>,
    /// Lines of the listing, one per instruction in program order. Empty for a form that does not
    /// allow comments at the end of a line.
    pub lines: Vec<ListingLine>,
}

impl Disassembled {
    /// Returns the program as `text` in a form that allows no comments.
    #[must_use]
    pub fn in_form(self, text: String) -> Self {
        Self { text, lines: Vec::new(), ..self }
    }
}

/// The listing that can be assembled again.
impl From<&Disassembly> for Disassembled {
    fn from(own: &Disassembly) -> Self {
        let problems = own.problems.iter().map(ToString::to_string).collect();
        Self { text: own.to_string(), instructions: own.lines.len(), problems, lines: own.listing() }
    }
}

/// Converts a language's error about a text.
pub(super) fn text_error(error: LanguageError) -> TargetError {
    match error {
        LanguageError::Text(error) => TargetError::Text(error),
        LanguageError::None(reason) => TargetError::failed(reason),
    }
}
