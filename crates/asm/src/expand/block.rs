//! [`Collecting`]: a macro or repetition whose lines are being read.

use std::sync::Arc;

use npukit_base::Span;
use npukit_isa::token::Token;

use super::frame::{Body, Lines};
use super::macros::Macro;
use super::{Expander, Line};
use crate::error::{AsmError, source_span};

/// Macro or repetition whose lines are being read.
pub(super) struct Collecting {
    pub opening: Line,
    pub span: Span,
    pub what: Block,
    /// Number of nested blocks of the same kind.
    nested: usize,
    lines: Vec<Line>,
}

pub(super) enum Block {
    Macro(String, Macro),
    /// Lines of a macro whose first line is wrong, so that it cannot be called.
    NoMacro,
    Repeat(usize),
}

impl Block {
    /// Returns the directives that begin and end the block.
    pub const fn names(&self) -> (&'static str, &'static str) {
        match self {
            Self::Macro(..) | Self::NoMacro => ("macro", "endm"),
            Self::Repeat(_) => ("rept", "endr"),
        }
    }
}

impl Expander<'_> {
    /// Reads the following lines as a block; if its first line is wrong, as the block `otherwise`.
    pub(super) fn begin(
        &mut self,
        opening: &Line,
        span: Span,
        found: Result<Block, AsmError>,
        otherwise: Block,
    ) -> Result<(), AsmError> {
        let span = Span::new(span.start.saturating_sub(1), span.end);
        let (what, fault) = found.map_or_else(|fault| (otherwise, Err(fault)), |what| (what, Ok(())));
        self.collecting =
            Some(Collecting { opening: opening.clone(), span, what, nested: 0, lines: Vec::new() });
        fault
    }

    /// Adds a line to the block, or ends it.
    pub(super) fn collect(&mut self, line: &Line, directive: Option<(&'static str, Token<'_>)>) {
        let Some(collecting) = &mut self.collecting else { return };
        let (opening, closing) = collecting.what.names();
        match directive {
            Some((name, _)) if name == opening => collecting.nested += 1,
            Some((name, _)) if name == closing && collecting.nested == 0 => return self.collected(),
            Some((name, _)) if name == closing => collecting.nested -= 1,
            _ => {}
        }
        collecting.lines.push(line.clone());
    }

    /// Processes a complete block.
    fn collected(&mut self) {
        let Some(Collecting { opening, what, lines, span, .. }) = self.collecting.take() else { return };
        match what {
            Block::Macro(name, found) => {
                let key = name.to_ascii_lowercase();
                if self.macros.contains_key(&key) {
                    return self
                        .report(AsmError::Twice { found: name, span: source_span(span) }, &opening.origin);
                }
                self.macros.insert(key, Arc::new(Macro { lines: lines.into(), ..found }));
            }
            Block::Repeat(times) if !lines.is_empty() => {
                let lines = Lines::Body { lines: lines.into(), at: 0, body: Body::Repeat { done: 0, times } };
                self.enter("repeated by `.rept`", &opening, lines);
            }
            Block::Repeat(_) | Block::NoMacro => {}
        }
    }
}
