//! [`Frame`]: a text or a body whose lines are being read.

use std::sync::Arc;

use super::substitute::{Layer, Substitutions, TooLong, substitute};
use super::{Line, LineOrigin, MAX_LINE_BYTES};

/// Source of lines.
pub(crate) struct Frame {
    pub lines: Lines,
    /// Call that generated the lines.
    pub call: Option<usize>,
    /// Number of macros and repetitions around the lines.
    pub depth: usize,
    /// Number of conditions that were open before.
    pub conditions: usize,
}

/// Lines with the current position.
pub(crate) enum Lines {
    Text { source: usize, text: Arc<str>, at: usize, number: usize },
    Body { lines: Arc<[Line]>, at: usize, body: Body },
}

/// Substitutions in the lines of a body.
pub(crate) enum Body {
    Macro {
        /// Values of the parameters, by name.
        values: Vec<(String, String)>,
        /// Number for `\@`.
        number: usize,
    },
    Repeat {
        done: usize,
        times: usize,
    },
}

impl Frame {
    /// Returns the index of the text that is read, if it is a text.
    pub fn source(&self) -> Option<usize> {
        match &self.lines {
            Lines::Text { source, .. } => Some(*source),
            Lines::Body { .. } => None,
        }
    }

    /// Returns the next line; the error has the line that becomes too long by its substitutions.
    pub fn next(&mut self, is_collecting: bool) -> Option<Result<Line, (LineOrigin, String)>> {
        let (call, depth) = (self.call, self.depth);
        match &mut self.lines {
            Lines::Text { source, text, at, number } => {
                let rest = text.get(*at..).filter(|rest| !rest.is_empty())?;
                let line = rest.split('\n').next().unwrap_or_default();
                *number += 1;
                let origin = LineOrigin { source: *source, start: *at, number: *number, layer: None, call };
                *at += line.len() + 1;
                Some(Ok(Line { text: line.to_owned(), origin, depth, taken: false }))
            }
            Lines::Body { lines, at, body } => {
                let line = body.line(lines, at)?;
                let substituted = body.substituted(line, is_collecting);
                let origin = LineOrigin { call, ..line.origin.clone() };
                Some(match substituted {
                    Ok((text, layer)) => {
                        Ok(Line { text, origin: LineOrigin { layer, ..origin }, depth, taken: false })
                    }
                    Err(_) => Err((origin, line.text.clone())),
                })
            }
        }
    }
}

impl Body {
    /// Returns the line at `at`, or the first one if the body is repeated.
    fn line<'a>(&mut self, lines: &'a [Line], at: &mut usize) -> Option<&'a Line> {
        if let Self::Repeat { done, times } = self {
            if *at == lines.len() {
                (*done, *at) = (*done + 1, 0);
            }
            if done >= times {
                return None;
            }
        }
        *at += 1;
        lines.get(*at - 1)
    }

    fn substituted(&self, line: &Line, is_collecting: bool) -> Result<(String, Option<Arc<Layer>>), TooLong> {
        let value_of = |name: &str| match self {
            Self::Macro { values, number } => match name {
                "@" => Some(number.to_string()),
                _ => values.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone()),
            },
            // A nested repetition has its own counter.
            Self::Repeat { done, .. } => (name == "+" && !is_collecting).then(|| done.to_string()),
        };
        let with = Substitutions { value_of: &value_of, separates: matches!(self, Self::Macro { .. }) };
        substitute(&line.text, line.origin.layer.as_ref(), &with, MAX_LINE_BYTES)
    }
}
