//! [`Place`]: where something stands in the texts of a program.

use std::sync::Arc;

use miette::{MietteError, MietteSpanContents, SourceCode, SourceSpan, SpanContents};
use npukit_base::Span;

/// A text with its name.
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

/// Where something stands in the texts of a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    /// Bytes of its own text.
    pub span: Span,
    /// Which text.
    pub(crate) source: usize,
    /// What put the line there.
    pub(crate) call: Option<usize>,
}

impl Place {
    /// A place of the text that is assembled, which no macro made.
    pub const fn new(span: Span) -> Self {
        Self { span, source: 0, call: None }
    }

    /// From here to another place, if it is in the same lines.
    pub(crate) fn to(self, other: Self) -> Self {
        let is_near = (self.source, self.call) == (other.source, other.call);
        if is_near { Self { span: self.span.to(other.span), ..self } } else { self }
    }

    /// Which of [`Sources::texts`](crate::Sources::texts) it is in.
    pub const fn source(self) -> usize {
        self.source
    }

    /// Which of [`Sources::calls`](crate::Sources::calls) put the line there.
    pub const fn call(self) -> Option<usize> {
        self.call
    }

    pub(crate) const fn is_plain(&self) -> bool {
        self.source == 0 && self.call.is_none()
    }
}
