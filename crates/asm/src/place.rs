//! [`SourceLocation`]: a location in the texts of a program.

use std::sync::Arc;

use miette::{MietteError, MietteSpanContents, SourceCode, SourceSpan, SpanContents};
use npukit_base::Span;

/// Text with its name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SourceText {
    pub name: String,
    pub text: Arc<str>,
}

impl SourceCode for SourceText {
    fn read_span<'a>(
        &'a self,
        span: &SourceSpan,
        lines_before: usize,
        lines_after: usize,
    ) -> Result<Box<dyn SpanContents<'a> + 'a>, MietteError> {
        let found = self.text.read_span(span, lines_before, lines_after)?;
        Ok(Box::new(MietteSpanContents::new_named(
            self.name.clone(),
            found.data(),
            *found.span(),
            found.line(),
            found.column(),
            found.line_count(),
        )))
    }
}

/// Location in the texts of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SourceLocation {
    /// Bytes in its text.
    pub span: Span,
    /// Index of the text.
    pub(crate) source: usize,
    /// Index of the call that generated the line; `None` for a line of the text itself.
    pub(crate) call: Option<usize>,
}

impl SourceLocation {
    /// Creates a place in the assembled text, outside of macros.
    pub const fn new(span: Span) -> Self {
        Self { span, source: 0, call: None }
    }

    /// Extends the place to another one, if both are in the same lines.
    pub(crate) fn to(self, other: Self) -> Self {
        let is_near = (self.source, self.call) == (other.source, other.call);
        if is_near { Self { span: self.span.to(other.span), ..self } } else { self }
    }

    /// Returns the index of its text in [`Sources::texts`](crate::Sources::texts).
    pub const fn source(self) -> usize {
        self.source
    }

    /// Returns the index in [`Sources::calls`](crate::Sources::calls) of the call that generated
    /// the line.
    pub const fn call(self) -> Option<usize> {
        self.call
    }

    pub(crate) const fn is_plain(&self) -> bool {
        self.source == 0 && self.call.is_none()
    }
}
