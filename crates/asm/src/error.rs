//! [`Faults`]: everything wrong with a text, each fault with its place; [`AsmErrors`] of assembly.

use std::fmt::Display;

use miette::{Diagnostic, LabeledSpan, NamedSource, SourceCode, SourceSpan};
use npukit_base::{Code, Span, codes, counted, without_bom};
use thiserror::Error;

use crate::place::{Place, SourceText};

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
        /// The legal number that is nearest, where there are numbers.
        nearest: Option<Box<str>>,
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
    #[diagnostic(code(asm::directive))]
    Directive {
        /// As written.
        found: String,
        /// Where.
        #[label("not a directive")]
        span: SourceSpan,
        /// The ones there are.
        #[help]
        help: &'static str,
    },
    /// A name that is defined already.
    #[error("`{found}` is defined already")]
    #[diagnostic(code(asm::twice), help("labels and symbols share their names, macros have their own"))]
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
    /// What follows a directive is not what it needs.
    #[error("`.{directive}` needs {expected}, not {found}")]
    #[diagnostic(code(asm::argument))]
    Argument {
        /// Its name.
        directive: &'static str,
        /// What would do.
        expected: &'static str,
        /// What is there.
        found: String,
        /// Where.
        #[label("here")]
        span: SourceSpan,
        /// An example.
        #[help]
        help: &'static str,
    },
    /// A file that cannot be included.
    #[error("cannot include `{path}`: {reason}")]
    #[diagnostic(code(asm::include), help("names are relative to the file that says `.include`"))]
    Include {
        /// The file.
        path: String,
        /// Why not.
        reason: String,
        /// Where.
        #[label("included here")]
        span: SourceSpan,
    },
    /// A macro is not called with its parameters.
    #[error("macro `{name}` {reason}")]
    #[diagnostic(code(asm::call))]
    Call {
        /// The macro.
        name: String,
        /// What is wrong with the call.
        reason: String,
        /// Where.
        #[label("here")]
        span: SourceSpan,
        /// How it is called.
        #[help]
        help: String,
    },
    /// A `\` before something that is no parameter.
    #[error("`\\{found}` is no parameter here")]
    #[diagnostic(
        code(asm::parameter),
        help("a `\\` stands before a parameter's name or `@` in a macro, before `+` in `.rept`")
    )]
    Parameter {
        /// What follows the `\`.
        found: String,
        /// Where.
        #[label("here")]
        span: SourceSpan,
    },
    /// A block without an end.
    #[error("`.{directive}` has no `.{closing}`")]
    #[diagnostic(code(asm::unclosed), help("blocks end in the file or macro that they begin in"))]
    Unclosed {
        /// What begins it.
        directive: &'static str,
        /// What would end it.
        closing: &'static str,
        /// Where.
        #[label("begins here")]
        span: SourceSpan,
    },
    /// An end, or another part, of a block that did not begin.
    #[error("`.{directive}` without `.{opening}`")]
    #[diagnostic(code(asm::stray), help("blocks begin in the file or macro that they end in"))]
    Stray {
        /// What is there.
        directive: &'static str,
        /// What should stand before it.
        opening: &'static str,
        /// Where.
        #[label("here")]
        span: SourceSpan,
    },
    /// A label where none can be.
    #[error("a label stands before an instruction, not before {found}")]
    #[diagnostic(code(asm::label), help("put it in front of the instruction that it names"))]
    Label {
        /// What it stands before.
        found: String,
        /// Where.
        #[label("here")]
        span: SourceSpan,
    },
    /// More than is expanded; nothing after it is read.
    #[error("{what}: the limit is {limit}")]
    #[diagnostic(code(asm::limit))]
    Limit {
        /// What there is too much of.
        what: &'static str,
        /// How much there may be.
        limit: usize,
        /// Where.
        #[label("here")]
        span: SourceSpan,
        /// How to do with less.
        #[help]
        help: &'static str,
    },
    /// An error in an included file, or in lines that a directive has made.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Within(Box<Within>),
}

/// An error in another text than the one that is assembled, or in lines that a directive has made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{error}")]
pub struct Within {
    pub(crate) error: AsmError,
    pub(crate) place: Place,
    pub(crate) text: SourceText,
    /// What put the line there, the innermost first.
    pub(crate) calls: Vec<String>,
}

impl Diagnostic for Within {
    fn code<'a>(&'a self) -> Option<Box<dyn Display + 'a>> {
        self.error.code()
    }

    fn help<'a>(&'a self) -> Option<Box<dyn Display + 'a>> {
        let own = self.error.help().map(|help| help.to_string());
        let lines: Vec<String> = own.into_iter().chain(self.calls.iter().cloned()).collect();
        if lines.is_empty() { None } else { Some(Box::new(lines.join("\n"))) }
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        self.error.labels()
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&self.text)
    }
}

impl npukit_base::Coded for Within {
    const CODES: &'static [Code] = &[];

    fn code(&self) -> &'static str {
        npukit_base::Coded::code(&self.error)
    }
}

/// Something that is wrong at a place of a program, as whoever reads or runs it says.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct SourceFault {
    pub(crate) code: &'static str,
    pub(crate) message: String,
    /// Below the place.
    pub(crate) label: String,
    pub(crate) help: Option<String>,
    pub(crate) span: Span,
    pub(crate) text: SourceText,
    /// What put the line there, the innermost first.
    pub(crate) calls: Vec<String>,
}

impl SourceFault {
    /// The same with what stands below the place.
    #[must_use]
    pub fn with_label(self, label: impl Into<String>) -> Self {
        Self { label: label.into(), ..self }
    }

    /// The same with what to do about it.
    #[must_use]
    pub fn with_help(self, help: Option<String>) -> Self {
        Self { help, ..self }
    }
}

impl Diagnostic for SourceFault {
    fn code<'a>(&'a self) -> Option<Box<dyn Display + 'a>> {
        Some(Box::new(self.code))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn Display + 'a>> {
        let lines: Vec<String> = self.help.iter().chain(&self.calls).cloned().collect();
        if lines.is_empty() { None } else { Some(Box::new(lines.join("\n"))) }
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = LabeledSpan> + '_>> {
        let label = (!self.label.is_empty()).then(|| self.label.clone());
        let label = LabeledSpan::new_with_span(label, source_span(self.span));
        Some(Box::new(std::iter::once(label)))
    }

    fn source_code(&self) -> Option<&dyn SourceCode> {
        Some(&self.text)
    }
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
        Self { source_code: NamedSource::new(name, without_bom(text).to_owned()), errors, more }
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
    Argument = "asm::argument": "what follows a directive is not what it needs";
    Include = "asm::include": "a file cannot be included";
    Call = "asm::call": "a macro is not called with its parameters";
    Parameter = "asm::parameter": "a name after `\\` is no parameter";
    Unclosed = "asm::unclosed": "a block has no end";
    Stray = "asm::stray": "a block ends that did not begin";
    Label = "asm::label": "a label stands where none can";
    Limit = "asm::limit": "a program expands to more than is taken";
} carries { Within.0 });

impl AsmError {
    /// Where it is, in its own text.
    pub fn span(&self) -> SourceSpan {
        match self {
            Self::Within(within) => within.error.span(),
            own => own.clone().span_mut().map_or_else(|| (0, 0).into(), |span| *span),
        }
    }

    /// Where it is among the texts of the program.
    pub fn place(&self) -> Place {
        match self {
            Self::Within(within) => within.place,
            own => Place::new(span_of(own.span())),
        }
    }

    pub(crate) fn span_mut(&mut self) -> Option<&mut SourceSpan> {
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
            | Self::Context { span, .. }
            | Self::Argument { span, .. }
            | Self::Include { span, .. }
            | Self::Call { span, .. }
            | Self::Parameter { span, .. }
            | Self::Unclosed { span, .. }
            | Self::Stray { span, .. }
            | Self::Label { span, .. }
            | Self::Limit { span, .. } => Some(span),
            // It is in a text of its own already.
            Self::Within(_) => None,
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

/// A place as `miette` has it.
pub(crate) fn span_of(span: SourceSpan) -> Span {
    Span::new(span.offset(), span.offset() + span.len())
}
