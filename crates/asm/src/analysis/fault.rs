//! [`TextFault`]: what is wrong with a text, with its place and what to do.

use miette::Diagnostic;
use npukit_base::{Span, meant};

use crate::error::{AsmError, span_of};
use crate::place::Place;

/// Something that is wrong with a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextFault {
    /// What it is: the word of `docs/errors.md`.
    pub code: String,
    /// What is wrong, with the numbers.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// Where.
    pub place: Place,
    /// Other bytes of the same text that it is about, and what of them.
    pub others: Vec<(Span, String)>,
    /// What would mend it.
    pub fix: Option<Fix>,
}

/// A change that may be what was meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// The bytes of the fault's text that go.
    pub span: Span,
    /// What stands there then.
    pub text: String,
}

impl TextFault {
    /// That of an error of a text, which has no place but in its labels: the first one is where it is.
    pub fn of(fault: &dyn Diagnostic) -> Self {
        let mut labels = fault.labels().into_iter().flatten().map(|label| {
            // Default: what is not said of a label is said by the message.
            (span_of(*label.inner()), label.label().unwrap_or_default().to_owned())
        });
        let place = Place::new(labels.next().map(|(span, _)| span).unwrap_or_default()); // Default: the beginning.
        let others = labels.collect();
        let help = fault.help().map(|help| help.to_string());
        let fix = help.as_deref().and_then(meant);
        let fix = fix.map(|name| Fix { span: place.span, text: name.to_owned() });
        // Default: a fault without a word of its own.
        let code = fault.code().map_or_else(|| "invalid-text".to_owned(), |code| code.to_string());
        Self { code, message: fault.to_string(), help, place, others, fix }
    }
}

impl From<&AsmError> for TextFault {
    fn from(error: &AsmError) -> Self {
        let own = match error {
            AsmError::Within(within) => &within.error,
            own => own,
        };
        let fault = Self::of(own);
        let nearest = |nearest: &str| Fix { span: fault.place.span, text: nearest.to_owned() };
        let fix = match own {
            AsmError::Range { nearest: Some(value), .. } => Some(nearest(value)),
            _ => fault.fix.clone(),
        };
        Self { place: error.place(), fix, ..fault }
    }
}
