//! [`Conditions`]: `.if`, `.ifdef`, `.ifndef`, `.elseif`, `.else` and `.endif`.

use npukit_base::Span;
use npukit_isa::token::Token;

use super::{LineOrigin, argument, stray};
use crate::error::{AsmError, source_span};
use crate::symbols::Symbols;

/// Directive of a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    If,
    Ifdef,
    Ifndef,
    Elseif,
    Else,
    Endif,
}

impl Part {
    /// Returns the directive of that name.
    pub fn of(name: &str) -> Option<Self> {
        Some(match name {
            "if" => Self::If,
            "ifdef" => Self::Ifdef,
            "ifndef" => Self::Ifndef,
            "elseif" => Self::Elseif,
            "else" => Self::Else,
            "endif" => Self::Endif,
            _ => return None,
        })
    }

    /// Whether the directive's condition holds.
    fn holds(self, word: Token<'_>, tokens: &[Token<'_>], symbols: &Symbols) -> Result<bool, AsmError> {
        match self {
            Self::If => argument::condition("if", word, tokens, symbols),
            Self::Elseif => argument::condition("elseif", word, tokens, symbols),
            Self::Ifdef => Ok(symbols.is_defined(argument::name("ifdef", word, tokens)?)),
            Self::Ifndef => Ok(!symbols.is_defined(argument::name("ifndef", word, tokens)?)),
            Self::Else => nothing("else", tokens).map(|()| true),
            Self::Endif => nothing("endif", tokens).map(|()| false),
        }
    }
}

fn nothing(directive: &'static str, tokens: &[Token<'_>]) -> Result<(), AsmError> {
    let Some(first) = tokens.first() else { return Ok(()) };
    let (found, span) = (format!("`{}`", first.text), source_span(first.span));
    let help = argument::example(directive);
    Err(AsmError::Argument { directive, expected: "the end of the line", found, span, help })
}

/// Open `.if`.
#[derive(Debug)]
struct Condition {
    origin: LineOrigin,
    span: Span,
    /// Whether its current lines are read.
    active: bool,
    /// Whether a part of it has been read, or no part may be read.
    done: bool,
    has_else: bool,
}

/// Open conditions, the outermost first.
#[derive(Debug, Default)]
pub(super) struct Conditions(Vec<Condition>);

impl Conditions {
    /// Whether lines are read here.
    pub fn is_active(&self) -> bool {
        self.0.last().is_none_or(|last| last.active)
    }

    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Closes all conditions except the first `keep`, and returns where the closed ones begin.
    pub fn close(&mut self, keep: usize) -> Vec<(LineOrigin, Span)> {
        let closed = self.0.drain(keep.min(self.0.len())..);
        closed.map(|condition| (condition.origin, condition.span)).collect()
    }

    /// Processes a directive; the first `base` conditions are from outside of the text.
    pub fn take(
        &mut self,
        part: Part,
        word: Token<'_>,
        tokens: &[Token<'_>],
        base: usize,
        origin: &LineOrigin,
        symbols: &Symbols,
    ) -> Result<(), AsmError> {
        match part {
            Part::If | Part::Ifdef | Part::Ifndef => self.begin(part, word, tokens, origin, symbols),
            _ if self.0.len() <= base => Err(stray(name(part), "if", word.span)),
            Part::Elseif | Part::Else => self.turn(part, word, tokens, symbols),
            Part::Endif => {
                self.0.pop();
                part.holds(word, tokens, symbols).map(drop)
            }
        }
    }

    fn begin(
        &mut self,
        part: Part,
        word: Token<'_>,
        tokens: &[Token<'_>],
        origin: &LineOrigin,
        symbols: &Symbols,
    ) -> Result<(), AsmError> {
        let is_read = self.is_active();
        let holds = if is_read { part.holds(word, tokens, symbols) } else { Ok(false) };
        let active = *holds.as_ref().unwrap_or(&false);
        // If the condition has no value, no part is read.
        let done = active || !is_read || holds.is_err();
        let span = Span::new(word.span.start.saturating_sub(1), word.span.end);
        self.0.push(Condition { origin: origin.clone(), span, active, done, has_else: false });
        holds.map(drop)
    }

    fn turn(
        &mut self,
        part: Part,
        word: Token<'_>,
        tokens: &[Token<'_>],
        symbols: &Symbols,
    ) -> Result<(), AsmError> {
        let Some(last) = self.0.last_mut() else { return Ok(()) };
        last.active = false;
        if last.has_else {
            return Err(stray(name(part), "if", word.span));
        }
        last.has_else = part == Part::Else;
        if !last.done {
            last.done = true;
            last.active = part.holds(word, tokens, symbols)?;
            last.done = last.active;
        }
        Ok(())
    }
}

const fn name(part: Part) -> &'static str {
    match part {
        Part::Elseif => "elseif",
        Part::Else => "else",
        _ => "endif",
    }
}
