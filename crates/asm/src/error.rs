//! [`Faults`]: everything wrong with a text, each fault with its place; [`AsmErrors`] of assembly.

use miette::{Diagnostic, NamedSource, SourceCode, SourceSpan};
use npukit_base::{Span, codes, counted};
use thiserror::Error;

/// Faults listed of one text; more are counted only.
pub(crate) const MAX_ERRORS: usize = 100;

/// A fault of a line.
#[derive(Clone, Debug, PartialEq, Eq, Error, Diagnostic)]
pub enum AsmError {
    /// The first word is not a mnemonic.
    #[error("there is no instruction `{found}`")]
    #[diagnostic(code(asm::mnemonic))]
    Mnemonic {
        /// As written.
        found: String,
        /// Where.
        #[label("not a mnemonic")]
        span: SourceSpan,
        /// The nearest one, or all.
        #[help]
        help: String,
    },
    /// No form of the instruction goes on like this.
    #[error("expected {expected}, found {found}")]
    #[diagnostic(code(asm::syntax))]
    Syntax {
        /// What would do.
        expected: String,
        /// The token, or the end of the line.
        found: String,
        /// Where.
        #[label("here")]
        span: SourceSpan,
        /// The nearest name, or the forms.
        #[help]
        help: String,
    },
    /// A number its field cannot hold.
    #[error("{value} does not fit: legal are {legal}")]
    #[diagnostic(code(asm::range))]
    Range {
        /// As written.
        value: String,
        /// Legal values.
        legal: String,
        /// Where.
        #[label("must be {legal}")]
        span: SourceSpan,
        /// The field.
        #[help]
        help: String,
    },
    /// Values that do not go together, or a field the form leaves at a value it cannot hold (a fault
    /// of the table).
    #[error("{reason}")]
    #[diagnostic(code(asm::encode), help("if it is meant, write the word with `.word`"))]
    Unencodable {
        /// The field and its value.
        reason: String,
        /// Where.
        #[label("here")]
        span: SourceSpan,
    },
    /// What follows `.word` is not an instruction's bytes.
    #[error("`.word` needs {expected}, not {found}")]
    #[diagnostic(
        code(asm::word),
        help("the bytes of one instruction in file order, as `.word 0500070000000010`")
    )]
    Word {
        /// Legal sizes.
        expected: String,
        /// What is there.
        found: String,
        /// Where.
        #[label("here")]
        span: SourceSpan,
    },
    /// A directive that does not exist.
    #[error("there is no directive `.{found}`")]
    #[diagnostic(
        code(asm::directive),
        help("there are `.word`, `.context`, `.equ`, `.set`, `.include`, `.macro`, `.rept` and `.if`")
    )]
    Directive {
        /// As written.
        found: String,
        /// Where.
        #[label("not a directive")]
        span: SourceSpan,
    },
    /// A name that is defined already.
    #[error("`{found}` is defined already")]
    #[diagnostic(code(asm::twice), help("labels and symbols share their names"))]
    Twice {
        /// As written.
        found: String,
        /// Where.
        #[label("here again")]
        span: SourceSpan,
    },
    /// What follows `.equ` or `.set` defines no symbol.
    #[error("`.{directive}` needs a name, a comma and a value, not {found}")]
    #[diagnostic(
        code(asm::equ),
        help(
            "as `.{directive} act, 0x100` or `.{directive} next, act+4`; `next = act+4` is `.set next, act+4`"
        )
    )]
    Equ {
        /// `equ` or `set`.
        directive: &'static str,
        /// What is there.
        found: String,
        /// Where.
        #[label("here")]
        span: SourceSpan,
    },
    /// An expression without a value.
    #[error("`{text}` {reason}")]
    #[diagnostic(code(asm::expression))]
    Expression {
        /// As written.
        text: String,
        /// Why there is none.
        reason: String,
        /// Where.
        #[label("has no value")]
        span: SourceSpan,
        /// What it is for.
        #[help]
        help: String,
    },
    /// Reserved bits given that are none of the instruction's.
    #[error("{value} has bits that are not reserved: those are {legal}")]
    #[diagnostic(code(asm::reserved))]
    Reserved {
        /// As written.
        value: String,
        /// The reserved bits.
        legal: String,
        /// Where.
        #[label("must have reserved bits only")]
        span: SourceSpan,
    },
    /// A context no instruction knows.
    #[error("there is no context `{found}`")]
    #[diagnostic(code(asm::context))]
    Context {
        /// As written.
        found: String,
        /// Where.
        #[label("not a context")]
        span: SourceSpan,
        /// The ones there are.
        #[help]
        help: String,
    },
}

/// Every fault of an assembly file.
pub type AsmErrors = Faults<AsmError>;

/// Every fault of a text; never empty. `miette` draws it with a caret under each.
#[derive(Clone, Debug, Error)]
#[error("{}", summary(.errors.len(), *.more, .source_code.name()))]
pub struct Faults<E: Diagnostic> {
    /// The text.
    pub source_code: NamedSource<String>,
    /// The first faults.
    pub errors: Vec<E>,
    /// How many others there are.
    pub more: usize,
}

impl<E: Diagnostic> Faults<E> {
    /// The faults of a text, of which the first 100 are kept; `name` is the file's, for messages.
    pub fn new(name: &str, text: &str, mut errors: Vec<E>) -> Self {
        let more = errors.len().saturating_sub(MAX_ERRORS);
        errors.truncate(MAX_ERRORS);
        Self { source_code: NamedSource::new(name, text.to_owned()), errors, more }
    }
}

impl<E: Diagnostic> Diagnostic for Faults<E> {
    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&self.source_code)
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        Some(Box::new(self.errors.iter().map(|error| error as &'a dyn Diagnostic)))
    }
}

codes!(AsmError {
    Mnemonic = "asm::mnemonic": "the first word of a line is no instruction";
    Syntax = "asm::syntax": "no form of the instruction goes on like this";
    Range = "asm::range": "a field cannot hold the number";
    Unencodable = "asm::encode": "values of an instruction do not go together";
    Word = "asm::word": "what follows `.word` is not an instruction's bytes";
    Directive = "asm::directive": "there is no such directive";
    Twice = "asm::twice": "a label or symbol is defined already";
    Equ = "asm::equ": "what follows `.equ` defines no symbol";
    Expression = "asm::expression": "a number is not to be had from an expression";
    Reserved = "asm::reserved": "reserved bits are given that are none of the instruction's";
    Context = "asm::context": "no instruction knows the context";
});

impl AsmError {
    /// Where it is.
    pub const fn span(&self) -> SourceSpan {
        match self {
            Self::Mnemonic { span, .. }
            | Self::Syntax { span, .. }
            | Self::Range { span, .. }
            | Self::Unencodable { span, .. }
            | Self::Word { span, .. }
            | Self::Directive { span, .. }
            | Self::Twice { span, .. }
            | Self::Equ { span, .. }
            | Self::Expression { span, .. }
            | Self::Reserved { span, .. }
            | Self::Context { span, .. } => *span,
        }
    }
}

pub(crate) fn summary(listed: usize, more: usize, name: &str) -> String {
    match more {
        0 => format!("{} in {name}", counted(listed as u64, "error")),
        _ => format!("{} errors in {name}, the first {listed} of them", listed + more),
    }
}

/// A place of a text, for `miette`.
pub fn source_span(span: Span) -> SourceSpan {
    (span.start, span.size_bytes()).into()
}
