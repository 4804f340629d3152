//! [`TextFault`]: a fault of a text, with its place and a remedy.

use miette::Diagnostic;
use npukit_base::{Span, meant};

use crate::error::{AsmError, span_of};
use crate::place::SourceLocation;

/// Fault of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextFault {
    /// Error code from `docs/errors.md`.
    pub code: String,
    /// Message with the values that were found.
    pub message: String,
    /// Hint how to correct the fault.
    pub help: Option<String>,
    /// Location of the fault.
    pub place: SourceLocation,
    /// Other related bytes of the text, with labels.
    pub others: Vec<(Span, String)>,
    /// Change that would correct the fault.
    pub fix: Option<Fix>,
}

/// Proposed change of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fix {
    /// Bytes of the text to replace.
    pub span: Span,
    /// New text for these bytes.
    pub text: String,
}

impl TextFault {
    /// Converts the error of a text. Its place is the first of its labels.
    pub fn of(fault: &dyn Diagnostic) -> Self {
        let mut labels = fault.labels().into_iter().flatten().map(|label| {
            // Default: without a label, the message must suffice.
            (span_of(*label.inner()), label.label().unwrap_or_default().to_owned())
        });
        let place = SourceLocation::new(labels.next().map(|(span, _)| span).unwrap_or_default()); // Default: the start of the text.
        let others = labels.collect();
        let help = fault.help().map(|help| help.to_string());
        let fix = help.as_deref().and_then(meant);
        let fix = fix.map(|name| Fix { span: place.span, text: name.to_owned() });
        // Default: the fault has no code of its own.
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
