//! [`Language`]: operations on a text for editors, listings and formatters.

use miette::Diagnostic;
use npukit_base::Span;
use npukit_isa::syntax::{Piece, Template};
use npukit_isa::{InstructionSpec, IsaSpec};

use super::Analysis;
use crate::comment::Comments;
use crate::expand::Files;

/// Error of listing or formatting a text.
pub enum LanguageError {
    /// The text has faults, to whose places the error refers.
    Text(Box<dyn Diagnostic + Send + Sync>),
    /// The language does not support the operation, for this reason.
    None(&'static str),
}

impl<E: Diagnostic + Send + Sync + 'static> From<E> for LanguageError {
    fn from(error: E) -> Self {
        Self::Text(Box::new(error))
    }
}

/// Language of a text. The operations for editors never fail, since a text may be incomplete.
pub trait Language: Send + Sync {
    /// Returns the instruction set, to whose rows marks and words refer.
    fn spec(&self) -> &IsaSpec;

    /// Returns the comment markers.
    fn comments(&self) -> Comments;

    /// Analyzes a text; `name` is the file's name, and `files` returns the included files.
    fn analyze(&self, name: &str, text: &str, files: &Files<'_>) -> Analysis;

    /// Returns completions at byte `at` of a text. `known` is an analysis of the text, perhaps from
    /// before the last change.
    fn propose(&self, text: &str, at: usize, known: &Analysis) -> Proposals;

    /// Returns the ways to write the instruction at byte `at` of a text.
    fn signatures(&self, text: &str, at: usize, known: &Analysis) -> Option<Signatures>;

    /// Returns a listing: address, bytes, number and text of each line, then the symbols.
    ///
    /// # Errors
    ///
    /// All faults of the text; or the language has no such listing.
    fn list(&self, name: &str, text: &str, files: &Files<'_>) -> Result<String, LanguageError>;

    /// Formats the text, keeping comments. `name` is the file's name for errors.
    ///
    /// # Errors
    ///
    /// All faults of the text, if it must be parsed for formatting.
    fn format(&self, name: &str, text: &str) -> Result<String, LanguageError>;
}

/// Completions at a place of a text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proposals {
    /// Bytes that a completion replaces.
    pub span: Span,
    /// Completions, the best first.
    pub all: Vec<Proposal>,
}

/// Completion.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// Text to insert.
    pub text: String,
    /// Kind of the completion.
    pub kind: ProposalKind,
    /// Description in one line.
    pub detail: String,
}

/// Kind of a completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProposalKind {
    /// Mnemonic of an instruction.
    Mnemonic,
    /// Name of a field.
    Field,
    /// Named value of a field.
    Value,
    /// Word of the language's syntax.
    Keyword,
    /// Label or symbol.
    Symbol,
    /// Name of a macro.
    Macro,
    /// Name of a directive.
    Directive,
}

/// Ways to write an instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signatures {
    /// Signatures, one per way.
    pub all: Vec<Signature>,
    /// Index of the signature that fits the text.
    pub active: usize,
}

/// Way to write an instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signature {
    /// Complete text of the form.
    pub label: String,
    /// Description of the instruction.
    pub meaning: String,
    /// Fields, in the order of the text.
    pub parameters: Vec<Parameter>,
    /// Index of the field that comes next.
    pub active: Option<usize>,
}

/// Field in a signature.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Location in the signature's label.
    pub span: Span,
    /// Description of the field and its legal values.
    pub meaning: String,
}

/// Directive: name, usage and description.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Directive {
    /// Name without the dot.
    pub name: &'static str,
    /// Example of its usage.
    pub usage: &'static str,
    /// Description in one line.
    pub meaning: &'static str,
}

/// All directives, in alphabetical order. Languages with their own syntax do not have the
/// directives of words and contexts.
#[rustfmt::skip] // A table.
const DIRECTIVES: [Directive; 20] = [
    Directive { name: "context", usage: ".context NAME", meaning: "selects how the following lines are read" },
    Directive { name: "data", usage: ".data MEMORY[A:B], VALUES", meaning: "memory contents before the run" },
    Directive { name: "else", usage: ".else", meaning: "lines for the case that no earlier condition holds" },
    Directive { name: "elseif", usage: ".elseif CONDITION", meaning: "another condition" },
    Directive { name: "endif", usage: ".endif", meaning: "the end of `.if`" },
    Directive { name: "endm", usage: ".endm", meaning: "the end of `.macro`" },
    Directive { name: "endr", usage: ".endr", meaning: "the end of `.rept`" },
    Directive { name: "equ", usage: ".equ NAME, VALUE", meaning: "defines a name for a number" },
    Directive { name: "expect", usage: ".expect MEMORY[A:B], VALUES", meaning: "required memory contents after the run" },
    Directive { name: "if", usage: ".if CONDITION", meaning: "lines that are assembled if a number is not 0" },
    Directive { name: "ifdef", usage: ".ifdef NAME", meaning: "lines that are assembled if a name is defined" },
    Directive { name: "ifndef", usage: ".ifndef NAME", meaning: "lines that are assembled if a name is not defined" },
    Directive { name: "include", usage: ".include \"FILE\"", meaning: "the lines of another file" },
    Directive { name: "input", usage: ".input NAME, MEMORY[A:B], VALUES", meaning: "an input that the user may give" },
    Directive { name: "macro", usage: ".macro NAME PARAMETER, ...", meaning: "lines with parameters, up to `.endm`" },
    Directive { name: "output", usage: ".output NAME, MEMORY[A:B]", meaning: "memory that is shown after the run" },
    Directive { name: "rept", usage: ".rept TIMES", meaning: "lines that are repeated, up to `.endr`" },
    Directive { name: "set", usage: ".set NAME, VALUE", meaning: "defines a name for a number until the next `.set`" },
    Directive { name: "wait", usage: ".wait", meaning: "the host waits until all instructions above are complete" },
    Directive { name: "word", usage: ".word BYTES", meaning: "an instruction as bytes in hexadecimal" },
];

/// Returns all directives, in alphabetical order.
pub const fn directives() -> &'static [Directive] {
    &DIRECTIVES
}

/// Returns the directive with this name (without its dot); case is ignored.
pub fn directive_named(name: &str) -> Option<&'static Directive> {
    directives().iter().find(|directive| directive.name.eq_ignore_ascii_case(name))
}

/// Returns the start of an instruction's forms, up to the first white space or field: `@shape.ifm`
/// for `@shape.ifm {h}`.
pub fn mnemonic_of(row: &InstructionSpec, syntax: &str) -> String {
    match Template::new(row, syntax).pieces.first() {
        Some(Piece::Text { text, .. }) => text.split_whitespace().next().unwrap_or_default().to_owned(),
        _ => String::new(),
    }
}

/// Returns the start of the word (letters, digits and underscores) that contains byte `at` of a
/// text, or ends there.
pub fn before_word(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or(text);
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    before.trim_end_matches(is_word).len()
}
