//! [`PasmErrors`]: all errors of a PASM file, each with its span.

use miette::{Diagnostic, LabeledSpan, SourceSpan};
use npukit_asm::{Faults, source_span};
use npukit_base::codes;
use thiserror::Error;

use crate::isa::token::NoToken;

/// Error in a PASM file.
#[derive(Clone, Debug, PartialEq, Eq, Error, Diagnostic)]
pub enum PasmError {
    /// Characters that do not form a token.
    #[error("`{found}` is not a token: {fault}")]
    #[diagnostic(code(pasm::token))]
    Token {
        /// The characters.
        found: String,
        /// Reason.
        fault: &'static str,
        /// Span of the characters.
        #[label("here")]
        span: SourceSpan,
    },
    /// Unexpected token.
    #[error("expected {expected}, found {found}")]
    #[diagnostic(code(pasm::syntax))]
    Syntax {
        /// Expected syntax.
        expected: String,
        /// Token found, or the end of the file.
        found: String,
        /// Span of the token.
        #[label("here")]
        span: SourceSpan,
        /// Suggested fix.
        #[help]
        help: Option<String>,
    },
    /// An unknown name.
    #[error("unknown {what} `{found}`")]
    #[diagnostic(code(pasm::name))]
    Unknown {
        /// Kind of the name.
        what: &'static str,
        /// The unknown name.
        found: String,
        /// Span of the name.
        #[label("not known here")]
        span: SourceSpan,
        /// Nearest known name, or all known names.
        #[help]
        help: String,
    },
    /// Two things have the same name.
    #[error("two {what} are named `{name}`")]
    #[diagnostic(code(pasm::twice))]
    Twice {
        /// Kind of the name, in plural.
        what: &'static str,
        /// The name.
        name: String,
        /// Span of the first definition.
        #[label("first here")]
        first: SourceSpan,
        /// Span of the second definition.
        #[label("and here")]
        second: SourceSpan,
    },
    /// A parameter is missing.
    #[error("{what} needs `{parameter}`")]
    #[diagnostic(code(pasm::missing))]
    Missing {
        /// Kind of statement that needs it.
        what: String,
        /// Missing parameter.
        parameter: &'static str,
        /// Span of the statement.
        #[label("add `{parameter}=...` here")]
        span: SourceSpan,
    },
    /// An invalid value.
    #[error("{what} is {found}: {legal}")]
    #[diagnostic(code(pasm::value))]
    Value {
        /// Name of the value.
        what: String,
        /// Value found.
        found: String,
        /// Legal values.
        legal: String,
        /// Span of the value.
        #[label("{legal}")]
        span: SourceSpan,
    },
    /// The operations cannot be scheduled.
    #[error("{reason}")]
    #[diagnostic(code(pasm::schedule))]
    Schedule {
        /// Message.
        reason: String,
        /// Spans of the contradictory constraints.
        #[label(collection, "this")]
        labels: Vec<LabeledSpan>,
        /// Hardware rules that are involved.
        #[help]
        help: String,
    },
    /// Any other error.
    #[error("{reason}")]
    #[diagnostic(code(pasm::rule))]
    Rule {
        /// Message.
        reason: String,
        /// Span in the text.
        #[label("here")]
        span: SourceSpan,
        /// Suggested fix.
        #[help]
        help: String,
    },
}

/// All errors of a PASM file.
pub type PasmErrors = Faults<PasmError>;

/// Sorts the errors of a file by position.
pub(crate) fn faults(name: &str, text: &str, mut errors: Vec<PasmError>) -> PasmErrors {
    errors.sort_by_key(|error| error.span().offset());
    Faults::new(name, text, errors)
}

codes!(PasmError {
    Token = "pasm::token": "characters do not form a token";
    Syntax = "pasm::syntax": "unexpected token";
    Unknown = "pasm::name": "unknown name";
    Twice = "pasm::twice": "two things have one name";
    Missing = "pasm::missing": "a parameter is missing";
    Value = "pasm::value": "invalid value";
    Schedule = "pasm::schedule": "operations cannot be scheduled";
    Rule = "pasm::rule": "a rule of the language is broken";
});

impl PasmError {
    /// Span of the error.
    pub fn span(&self) -> SourceSpan {
        match self {
            Self::Token { span, .. }
            | Self::Syntax { span, .. }
            | Self::Unknown { span, .. }
            | Self::Twice { second: span, .. }
            | Self::Missing { span, .. }
            | Self::Value { span, .. }
            | Self::Rule { span, .. } => *span,
            Self::Schedule { labels, .. } => labels.first().map_or((0, 0).into(), |label| *label.inner()),
        }
    }
}

impl From<NoToken> for PasmError {
    fn from(NoToken { found, fault, span }: NoToken) -> Self {
        Self::Token { found, fault, span: source_span(span) }
    }
}
