//! [`PasmErrors`]: everything wrong with a PASM file, each fault with its place.

use miette::{Diagnostic, LabeledSpan, SourceSpan};
use npukit_asm::{Faults, source_span};
use npukit_base::codes;
use thiserror::Error;

use crate::isa::token::NoToken;

/// A fault of a PASM file.
#[derive(Clone, Debug, PartialEq, Eq, Error, Diagnostic)]
pub enum PasmError {
    /// Characters that make no token.
    #[error("`{found}` is no token: {fault}")]
    #[diagnostic(code(pasm::token))]
    Token {
        /// The characters.
        found: String,
        /// What is wrong with them.
        fault: &'static str,
        /// Where.
        #[label("here")]
        span: SourceSpan,
    },
    /// The grammar goes on otherwise.
    #[error("expected {expected}, found {found}")]
    #[diagnostic(code(pasm::syntax))]
    Syntax {
        /// What would do.
        expected: String,
        /// The token, or the end of the file.
        found: String,
        /// Where.
        #[label("here")]
        span: SourceSpan,
        /// What to do.
        #[help]
        help: Option<String>,
    },
    /// Something is named that is not there.
    #[error("there is no {what} `{found}`")]
    #[diagnostic(code(pasm::name))]
    Unknown {
        /// What kind of thing.
        what: &'static str,
        /// Its name.
        found: String,
        /// Where.
        #[label("not known here")]
        span: SourceSpan,
        /// The nearest, or all.
        #[help]
        help: String,
    },
    /// Two things of one name.
    #[error("there are two {what} `{name}`")]
    #[diagnostic(code(pasm::twice))]
    Twice {
        /// What kind of thing.
        what: &'static str,
        /// The name.
        name: String,
        /// The first.
        #[label("first here")]
        first: SourceSpan,
        /// The second.
        #[label("and here")]
        second: SourceSpan,
    },
    /// A parameter is missing.
    #[error("{what} needs `{parameter}`")]
    #[diagnostic(code(pasm::missing))]
    Missing {
        /// Of what.
        what: String,
        /// Which.
        parameter: &'static str,
        /// Where.
        #[label("add `{parameter}=...` here")]
        span: SourceSpan,
    },
    /// A value that is not allowed.
    #[error("{what} is {found}: {legal}")]
    #[diagnostic(code(pasm::value))]
    Value {
        /// Of what.
        what: String,
        /// The value.
        found: String,
        /// What is allowed.
        legal: String,
        /// Where.
        #[label("{legal}")]
        span: SourceSpan,
    },
    /// Operations without a schedule.
    #[error("{reason}")]
    #[diagnostic(code(pasm::schedule))]
    Schedule {
        /// The sentence.
        reason: String,
        /// Constraints that contradict each other.
        #[label(collection, "this")]
        labels: Vec<LabeledSpan>,
        /// What else they meet.
        #[help]
        help: String,
    },
    /// Anything else, said in a sentence.
    #[error("{reason}")]
    #[diagnostic(code(pasm::rule))]
    Rule {
        /// The sentence.
        reason: String,
        /// Where.
        #[label("here")]
        span: SourceSpan,
        /// What to do.
        #[help]
        help: String,
    },
}

/// Every fault of a PASM file.
pub type PasmErrors = Faults<PasmError>;

/// The faults of a file, in order of place.
pub(crate) fn faults(name: &str, text: &str, mut errors: Vec<PasmError>) -> PasmErrors {
    errors.sort_by_key(|error| error.span().offset());
    Faults::new(name, text, errors)
}

codes!(PasmError {
    Token = "pasm::token": "characters make no token";
    Syntax = "pasm::syntax": "the grammar goes on otherwise";
    Unknown = "pasm::name": "something is named that is not there";
    Twice = "pasm::twice": "two things have one name";
    Missing = "pasm::missing": "a parameter is missing";
    Value = "pasm::value": "a value is not allowed";
    Schedule = "pasm::schedule": "operations have no schedule";
    Rule = "pasm::rule": "a rule of the language is broken";
});

impl PasmError {
    /// Where it is.
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
