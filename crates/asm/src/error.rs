//! [`Faults`]: all faults of a text, with their places; [`AsmErrors`]: the faults of an assembly.

use std::fmt::Display;

use miette::{Diagnostic, LabeledSpan, NamedSource, SourceCode, SourceSpan};
use npukit_base::{Code, Span, codes, counted, without_bom};
use thiserror::Error;

use crate::place::{SourceLocation, SourceText};

/// Maximum number of faults that are listed for a text; further ones are only counted.
pub(crate) const MAX_ERRORS: usize = 100;

/// Fault of a line.
#[derive(Clone, Debug, PartialEq, Eq, Error, Diagnostic)]
pub enum AsmError {
    /// The first word is not a mnemonic.
    #[error("there is no instruction `{found}`")]
    #[diagnostic(code(asm::mnemonic))]
    Mnemonic {
        /// Word as written.
        found: String,
        /// Location of the word.
        #[label("not a mnemonic")]
        span: SourceSpan,
        /// Nearest mnemonic, or all of them.
        #[help]
        help: String,
    },
    /// The line fits no form of the instruction.
    #[error("expected {expected}, found {found}")]
    #[diagnostic(code(asm::syntax))]
    Syntax {
        /// Legal continuations.
        expected: String,
        /// Token that was found, or the end of the line.
        found: String,
        /// Location of the token.
        #[label("here")]
        span: SourceSpan,
        /// Nearest name, or the forms of the instruction.
        #[help]
        help: String,
    },
    /// A number does not fit its field.
    #[error("{value} does not fit: legal are {legal}")]
    #[diagnostic(code(asm::range))]
    Range {
        /// Number as written.
        value: String,
        /// Legal values.
        legal: String,
        /// Location of the number.
        #[label("must be {legal}")]
        span: SourceSpan,
        /// Description of the field.
        #[help]
        help: String,
        /// Nearest legal number; `None` if the field takes no numbers.
        nearest: Option<Box<str>>,
    },
    /// Values cannot be combined, or a form leaves a field at a value that it cannot have (an error
    /// in the table).
    #[error("{reason}")]
    #[diagnostic(code(asm::encode), help("if this is intended, write the word with `.word`"))]
    Unencodable {
        /// Description with the field and its value.
        reason: String,
        /// Location of the instruction.
        #[label("here")]
        span: SourceSpan,
    },
    /// The operand of `.word` is not the bytes of an instruction.
    #[error("`.word` needs {expected}, not {found}")]
    #[diagnostic(
        code(asm::word),
        help("give the bytes of one instruction in file order, as `.word 0500070000000010`")
    )]
    Word {
        /// Legal sizes.
        expected: String,
        /// Text that was found.
        found: String,
        /// Location of the operand.
        #[label("here")]
        span: SourceSpan,
    },
    /// A directive does not exist.
    #[error("there is no directive `.{found}`")]
    #[diagnostic(code(asm::directive))]
    Directive {
        /// Text as written.
        found: String,
        /// Location of the directive.
        #[label("not a directive")]
        span: SourceSpan,
        /// List of the directives.
        #[help]
        help: &'static str,
    },
    /// A name is already defined.
    #[error("`{found}` is already defined")]
    #[diagnostic(code(asm::twice), help("labels and symbols share a namespace; macros have a separate one"))]
    Twice {
        /// Name as written.
        found: String,
        /// Location of the second definition.
        #[label("here again")]
        span: SourceSpan,
    },
    /// The operands of `.equ` or `.set` do not define a symbol.
    #[error("`.{directive}` needs a name, a comma and a value, not {found}")]
    #[diagnostic(
        code(asm::equ),
        help(
            "for example `.{directive} act, 0x100` or `.{directive} next, act+4`; `next = act+4` is `.set next, act+4`"
        )
    )]
    Equ {
        /// Name of the directive: `equ` or `set`.
        directive: &'static str,
        /// Text that was found.
        found: String,
        /// Location of the text.
        #[label("here")]
        span: SourceSpan,
    },
    /// An expression has no value.
    #[error("`{text}` {reason}")]
    #[diagnostic(code(asm::expression))]
    Expression {
        /// Text as written.
        text: String,
        /// Reason why it has no value.
        reason: String,
        /// Location of the expression.
        #[label("has no value")]
        span: SourceSpan,
        /// Purpose of the value.
        #[help]
        help: String,
    },
    /// The operand for reserved bits sets other bits.
    #[error("{value} sets bits that are not reserved: reserved are {legal}")]
    #[diagnostic(code(asm::reserved))]
    Reserved {
        /// Number as written.
        value: String,
        /// Ranges of the reserved bits.
        legal: String,
        /// Location of the number.
        #[label("must have reserved bits only")]
        span: SourceSpan,
    },
    /// A context does not exist for any instruction.
    #[error("there is no context `{found}`")]
    #[diagnostic(code(asm::context))]
    Context {
        /// Text as written.
        found: String,
        /// Location of the name.
        #[label("not a context")]
        span: SourceSpan,
        /// List of the contexts.
        #[help]
        help: String,
    },
    /// The operands of a directive are wrong.
    #[error("`.{directive}` needs {expected}, not {found}")]
    #[diagnostic(code(asm::argument))]
    Argument {
        /// Name of the directive.
        directive: &'static str,
        /// Description of legal operands.
        expected: &'static str,
        /// Text that was found.
        found: String,
        /// Location of the text.
        #[label("here")]
        span: SourceSpan,
        /// Example of the directive.
        #[help]
        help: &'static str,
    },
    /// A file cannot be included.
    #[error("cannot include `{path}`: {reason}")]
    #[diagnostic(code(asm::include), help("paths are relative to the file with the `.include`"))]
    Include {
        /// Path of the file.
        path: String,
        /// Reason why it cannot be included.
        reason: String,
        /// Location of the directive.
        #[label("included here")]
        span: SourceSpan,
    },
    /// The arguments of a macro call are wrong.
    #[error("macro `{name}` {reason}")]
    #[diagnostic(code(asm::call))]
    Call {
        /// Name of the macro.
        name: String,
        /// Description of the error.
        reason: String,
        /// Location of the call.
        #[label("here")]
        span: SourceSpan,
        /// Usage of the macro.
        #[help]
        help: String,
    },
    /// A `\` is followed by something that is not a parameter.
    #[error("`\\{found}` is not a parameter here")]
    #[diagnostic(
        code(asm::parameter),
        help("use `\\` before a parameter's name or `@` in a macro, or before `+` in `.rept`")
    )]
    Parameter {
        /// Text after the `\`.
        found: String,
        /// Location of the text.
        #[label("here")]
        span: SourceSpan,
    },
    /// A block has no end.
    #[error("`.{directive}` has no `.{closing}`")]
    #[diagnostic(code(asm::unclosed), help("a block must end in the file or macro in which it begins"))]
    Unclosed {
        /// Directive that begins the block.
        directive: &'static str,
        /// Directive that is missing at its end.
        closing: &'static str,
        /// Location of the block's first line.
        #[label("begins here")]
        span: SourceSpan,
    },
    /// The end, or another part, of a block that was not begun.
    #[error("`.{directive}` without `.{opening}`")]
    #[diagnostic(code(asm::stray), help("a block must begin in the file or macro in which it ends"))]
    Stray {
        /// Directive that was found.
        directive: &'static str,
        /// Directive that is missing before it.
        opening: &'static str,
        /// Location of the directive.
        #[label("here")]
        span: SourceSpan,
    },
    /// A label is at a place where none is allowed.
    #[error("a label must be before an instruction, not before {found}")]
    #[diagnostic(code(asm::label), help("move it to the instruction that it labels"))]
    Label {
        /// Text after the label.
        found: String,
        /// Location of the label.
        #[label("here")]
        span: SourceSpan,
    },
    /// An expansion exceeds a limit; nothing after it is read.
    #[error("{what}: the limit is {limit}")]
    #[diagnostic(code(asm::limit))]
    Limit {
        /// Name of the quantity that exceeds the limit.
        what: &'static str,
        /// Value of the limit.
        limit: usize,
        /// Location of the line.
        #[label("here")]
        span: SourceSpan,
        /// How to stay below the limit.
        #[help]
        help: &'static str,
    },
    /// An error in an included file, or in lines that a directive generated.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Within(Box<Within>),
}

/// Error in another text than the assembled one, or in lines that a directive generated.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{error}")]
pub struct Within {
    pub(crate) error: AsmError,
    pub(crate) place: SourceLocation,
    pub(crate) text: SourceText,
    /// Directives and calls that generated the line, the innermost first.
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

/// Fault at a place of a program, reported by any tool that reads or runs it.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}")]
pub struct SourceFault {
    pub(crate) code: &'static str,
    pub(crate) message: String,
    /// Label below the place.
    pub(crate) label: String,
    pub(crate) help: Option<String>,
    pub(crate) span: Span,
    pub(crate) text: SourceText,
    /// Directives and calls that generated the line, the innermost first.
    pub(crate) calls: Vec<String>,
}

impl SourceFault {
    /// Returns the fault with a label below the place.
    #[must_use]
    pub fn with_label(self, label: impl Into<String>) -> Self {
        Self { label: label.into(), ..self }
    }

    /// Returns the fault with a hint what to do about it.
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

/// All faults of an assembly file.
pub type AsmErrors = Faults<AsmError>;

/// All faults of a text; never empty. `miette` draws each with a caret below it.
#[derive(Clone, Debug, Error)]
#[error("{}", summary(.errors.len(), *.more, .source_code.name()))]
pub struct Faults<E: Diagnostic> {
    /// The text with its name.
    pub source_code: NamedSource<String>,
    /// The first faults, at most 100.
    pub errors: Vec<E>,
    /// Number of further faults.
    pub more: usize,
}

impl<E: Diagnostic> Faults<E> {
    /// Creates the faults of a text and keeps the first 100; `name` is the file's name for
    /// messages.
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
    Mnemonic = "asm::mnemonic": "the first word of a line is not an instruction";
    Syntax = "asm::syntax": "a line does not fit any form of its instruction";
    Range = "asm::range": "a field cannot hold the number";
    Unencodable = "asm::encode": "values of an instruction cannot be combined";
    Word = "asm::word": "the operand of `.word` is not the bytes of an instruction";
    Directive = "asm::directive": "a directive does not exist";
    Twice = "asm::twice": "a label or symbol is already defined";
    Equ = "asm::equ": "the operands of `.equ` or `.set` do not define a symbol";
    Expression = "asm::expression": "an expression has no value";
    Reserved = "asm::reserved": "the operand for reserved bits sets other bits";
    Context = "asm::context": "a context does not exist for any instruction";
    Argument = "asm::argument": "the operands of a directive are wrong";
    Include = "asm::include": "a file cannot be included";
    Call = "asm::call": "the arguments of a macro call are wrong";
    Parameter = "asm::parameter": "a name after `\\` is not a parameter";
    Unclosed = "asm::unclosed": "a block has no end";
    Stray = "asm::stray": "a block ends that was not begun";
    Label = "asm::label": "a label is at a place where none is allowed";
    Limit = "asm::limit": "an expansion exceeds a limit";
} carries { Within.0 });

impl AsmError {
    /// Returns the location in the fault's own text.
    pub fn span(&self) -> SourceSpan {
        match self {
            Self::Within(within) => within.error.span(),
            own => own.clone().span_mut().map_or_else(|| (0, 0).into(), |span| *span),
        }
    }

    /// Returns the place among the texts of the program.
    pub fn place(&self) -> SourceLocation {
        match self {
            Self::Within(within) => within.place,
            own => SourceLocation::new(span_of(own.span())),
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
            // It already has its own text.
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

/// Converts a span of a text for `miette`.
pub fn source_span(span: Span) -> SourceSpan {
    (span.start, span.size_bytes()).into()
}

/// Converts a span from `miette`.
pub(crate) fn span_of(span: SourceSpan) -> Span {
    Span::new(span.offset(), span.offset() + span.len())
}
