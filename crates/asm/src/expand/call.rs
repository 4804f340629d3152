//! Continuation of reading elsewhere: macro calls, repetitions and included files.

use std::sync::Arc;

use npukit_base::Span;
use npukit_isa::token::Token;

use super::frame::{Body, Lines};
use super::macros::Macro;
use super::{Expander, Limit, Line, MAX_CALLS, MAX_FILES, MAX_INCLUDED_BYTES, include};
use crate::error::{AsmError, source_span};
use crate::experiment::Rest;

impl Expander<'_> {
    /// Continues with lines that `by` generates.
    pub(super) fn enter(&mut self, what: &'static str, by: &Line, lines: Lines) {
        if self.frames.last().is_some_and(|frame| frame.depth >= MAX_CALLS) {
            return self.stop(&by.origin, &by.text, &Limit::CALLS);
        }
        let call = self.called_at(what, by);
        self.push(lines, Some(call), 1);
    }

    /// Records that a line generates others.
    fn called_at(&mut self, what: &'static str, line: &Line) -> usize {
        let code = self.comments.split(&line.text).0;
        let span = Span::new(code.len() - code.trim_start().len(), code.trim_end().len());
        self.sources.call(what, line.origin.place(span))
    }

    /// Continues with the lines of a macro.
    pub(super) fn call(
        &mut self,
        found: &Macro,
        name: Token<'_>,
        code: &str,
        line: &Line,
    ) -> Result<(), AsmError> {
        let arguments = code.get(name.span.end..).unwrap_or_default();
        let values = found.values(name.text, name.span, arguments)?;
        let body = Body::Macro { values, number: self.calls };
        self.calls += 1;
        self.enter("called", line, Lines::Body { lines: Arc::clone(&found.lines), at: 0, body });
        Ok(())
    }

    /// Continues with the lines of a file.
    pub(super) fn include(&mut self, word: Token<'_>, rest: Rest<'_>, line: &Line) -> Result<(), AsmError> {
        let (path, span) = include::path(word.span, rest.start, rest.text)?;
        let fault =
            |reason: String| AsmError::Include { path: path.clone(), reason, span: source_span(span) };
        let found = include::beside(self.sources.name(line.origin.source), &path);
        let open: Vec<&str> =
            self.frames.iter().filter_map(|frame| frame.source()).map(|of| self.sources.name(of)).collect();
        if open.contains(&found.as_str()) {
            return Err(fault(format!(
                "it would include itself: {}",
                [&open[..], &[&found]].concat().join(" > ")
            )));
        }
        if open.len() >= MAX_FILES {
            self.stop(&line.origin, &line.text, &Limit::FILES);
            return Ok(());
        }
        let text = include::text(self.files, &found).map_err(fault)?;
        self.included_bytes += text.len();
        if self.included_bytes > MAX_INCLUDED_BYTES {
            self.stop(&line.origin, &line.text, &Limit::INCLUDED);
            return Ok(());
        }
        let call = self.called_at("included", line);
        self.open(&found, &text, Some(call));
        Ok(())
    }
}
