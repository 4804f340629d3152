//! [`Language`]: the language of a text, for editors, listings and layouts.

use miette::Diagnostic;
use npukit_base::Span;
use npukit_isa::syntax::{Piece, Template};
use npukit_isa::{InstructionSpec, IsaSpec};

use super::Analysis;
use crate::comment::Comments;
use crate::expand::Files;

/// Why a text is not listed or laid out.
pub enum LanguageError {
    /// It is wrong at places that the error points to.
    Text(Box<dyn Diagnostic + Send + Sync>),
    /// The language has no such form, for this reason.
    None(&'static str),
}

impl<E: Diagnostic + Send + Sync + 'static> From<E> for LanguageError {
    fn from(error: E) -> Self {
        Self::Text(Box::new(error))
    }
}

/// The language of a text. Nothing that an editor asks of it fails: a text may be half written.
pub trait Language: Send + Sync {
    /// The instruction set, whose rows marks and words name.
    fn spec(&self) -> &IsaSpec;

    /// What begins comments.
    fn comments(&self) -> Comments;

    /// All that is known of a text; `name` is the file's, and `files` gives those that it includes.
    fn analyse(&self, name: &str, text: &str, files: &Files<'_>) -> Analysis;

    /// What may stand at byte `at` of a text, of which `known` was found, perhaps before the last change.
    fn propose(&self, text: &str, at: usize, known: &Analysis) -> Proposals;

    /// The ways to write the instruction at byte `at` of a text.
    fn signatures(&self, text: &str, at: usize, known: &Analysis) -> Option<Signatures>;

    /// The text with what each line of it becomes: address, bytes, number and text of the line, then the symbols.
    ///
    /// # Errors
    ///
    /// Every fault of the text; a language without such listings.
    fn list(&self, name: &str, text: &str, files: &Files<'_>) -> Result<String, LanguageError>;

    /// The text, laid out: another layout of the same program, comments kept. `name` is the file's, for errors.
    ///
    /// # Errors
    ///
    /// Every fault of the text, where it must be read for that.
    fn format(&self, name: &str, text: &str) -> Result<String, LanguageError>;
}

/// What may stand somewhere.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proposals {
    /// The bytes in whose place it comes.
    pub span: Span,
    /// The best first.
    pub all: Vec<Proposal>,
}

/// Something that may stand somewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// What is written.
    pub text: String,
    /// What it is.
    pub kind: ProposalKind,
    /// More of it, in a line.
    pub detail: String,
}

/// What a proposal is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProposalKind {
    /// An instruction.
    Mnemonic,
    /// The name of a field.
    Field,
    /// A value with a name.
    Value,
    /// A word of the language.
    Keyword,
    /// A label or symbol.
    Symbol,
    /// A macro.
    Macro,
    /// A directive.
    Directive,
}

/// Ways to write an instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signatures {
    /// A way each.
    pub all: Vec<Signature>,
    /// Which of them fits what is written.
    pub active: usize,
}

/// A way to write an instruction.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signature {
    /// The whole.
    pub label: String,
    /// What it does.
    pub meaning: String,
    /// Its fields, in the order of the text.
    pub parameters: Vec<Parameter>,
    /// Which of them comes next.
    pub active: Option<usize>,
}

/// A field of a way to write an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameter {
    /// Where it stands in the whole.
    pub span: Span,
    /// What it is, and what may stand there.
    pub meaning: String,
}

/// A directive: its name, how it is written, what it does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Directive {
    /// Without its dot.
    pub name: &'static str,
    /// An example.
    pub usage: &'static str,
    /// In a line.
    pub meaning: &'static str,
}

/// All directives, by the alphabet. Those of words and contexts are none of languages of their own.
#[rustfmt::skip] // A table.
const DIRECTIVES: [Directive; 20] = [
    Directive { name: "context", usage: ".context NAME", meaning: "how the lines below are read" },
    Directive { name: "data", usage: ".data MEMORY[A:B], VALUES", meaning: "what memory holds before the run" },
    Directive { name: "else", usage: ".else", meaning: "what stands where no condition before holds" },
    Directive { name: "elseif", usage: ".elseif CONDITION", meaning: "another condition" },
    Directive { name: "endif", usage: ".endif", meaning: "the end of `.if`" },
    Directive { name: "endm", usage: ".endm", meaning: "the end of `.macro`" },
    Directive { name: "endr", usage: ".endr", meaning: "the end of `.rept`" },
    Directive { name: "equ", usage: ".equ NAME, VALUE", meaning: "a name for a number" },
    Directive { name: "expect", usage: ".expect MEMORY[A:B], VALUES", meaning: "what memory must hold after the run" },
    Directive { name: "if", usage: ".if CONDITION", meaning: "lines that are there when a number is not 0" },
    Directive { name: "ifdef", usage: ".ifdef NAME", meaning: "lines that are there when a name is defined" },
    Directive { name: "ifndef", usage: ".ifndef NAME", meaning: "lines that are there when a name is not defined" },
    Directive { name: "include", usage: ".include \"FILE\"", meaning: "the lines of another file" },
    Directive { name: "input", usage: ".input NAME, MEMORY[A:B], VALUES", meaning: "what whoever runs the program may give" },
    Directive { name: "macro", usage: ".macro NAME PARAMETER, ...", meaning: "lines with parameters, up to `.endm`" },
    Directive { name: "output", usage: ".output NAME, MEMORY[A:B]", meaning: "what is shown after the run" },
    Directive { name: "rept", usage: ".rept TIMES", meaning: "lines that are repeated, up to `.endr`" },
    Directive { name: "set", usage: ".set NAME, VALUE", meaning: "a name for a number until the next `.set`" },
    Directive { name: "wait", usage: ".wait", meaning: "the host waits until all instructions above are complete" },
    Directive { name: "word", usage: ".word BYTES", meaning: "an instruction as bytes in hexadecimal" },
];

/// All directives, by the alphabet.
pub const fn directives() -> &'static [Directive] {
    &DIRECTIVES
}

/// The directive of a name without its dot, whatever the case.
pub fn directive_named(name: &str) -> Option<&'static Directive> {
    directives().iter().find(|directive| directive.name.eq_ignore_ascii_case(name))
}

/// What the forms of an instruction begin with, up to the first white space or field: `@shape.ifm` of `@shape.ifm {h}`.
pub fn mnemonic_of(row: &InstructionSpec, syntax: &str) -> String {
    match Template::new(row, syntax).pieces.first() {
        Some(Piece::Text { text, .. }) => text.split_whitespace().next().unwrap_or_default().to_owned(),
        _ => String::new(),
    }
}

/// Where the word begins that byte `at` of a text ends or stands in: letters, digits and underscores.
pub fn before_word(text: &str, at: usize) -> usize {
    let before = text.get(..at).unwrap_or(text);
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    before.trim_end_matches(is_word).len()
}
