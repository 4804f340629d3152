//! PASM: operations on ports of a fabric, and constraints between their starts.
//!
//! [`parse`] reads a program and collects every error of the file in one [`PasmErrors`].
//! [`format()`] formats a text and keeps its comments. [`constraint`] has the expressions of
//! `cstr`, and [`pattern`] the timing of an operation's events.

pub mod ast;
pub mod constraint;
pub(crate) mod epoch;
pub(crate) mod error;
pub(crate) mod kernel;
mod parser;
pub mod pattern;
pub(crate) mod schedule;

use npukit_asm::{Statements, Style};
use npukit_base::Span;

use crate::isa::asm::COMMENTS;
use crate::isa::layout::{Language, layout};
use crate::isa::token::{Token, TokenKind, tokens};

pub use ast::Program;
pub use error::{PasmError, PasmErrors};
pub use parser::parse;
pub(crate) use parser::parse_all;

/// Formats the text of a file; `name` is the file's, for messages. Directive lines, which describe
/// the memories around a run, stay lines of their own.
///
/// # Errors
///
/// The errors of [`parse`].
pub fn format(name: &str, text: &str) -> Result<String, PasmErrors> {
    let left = without_directives(text, &mut |_| {});
    parse(name, &left)?;
    if left == text {
        return Ok(layout_of(text));
    }
    let statements = Some(Statements { lay_out: &layout_of, opens: &opens });
    Ok(npukit_asm::format(text, &Style { comments: COMMENTS, instruction: 0, block: 2, statements }))
}

/// Returns the number of braces and parentheses open after a line, given the number before it.
fn opens(open: usize, line: &str) -> Option<usize> {
    let (tokens, _) = tokens(line);
    let step = |open: usize, token: &Token<'_>| match token.text {
        "{" | "(" if token.kind == TokenKind::Punctuation => Some(open + 1),
        "}" | ")" if token.kind == TokenKind::Punctuation => open.checked_sub(1),
        _ => Some(open),
    };
    tokens.iter().try_fold(open, step)
}

/// Replaces directive lines by spaces, and calls `each` with the span of each directive's name.
pub(crate) fn without_directives(text: &str, each: &mut dyn FnMut(Span)) -> String {
    let (mut left, mut start) = (String::new(), 0);
    for line in text.split_inclusive('\n') {
        let code = COMMENTS.split(line).0;
        let blank = code.len() - code.trim_start().len();
        if let Some(rest) = code.trim_start().strip_prefix('.') {
            let size = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.trim_end().len());
            each(Span::new(start + blank, start + blank + 1 + size));
            let space = |c: char| if c == '\n' { "\n".to_owned() } else { " ".repeat(c.len_utf8()) };
            left.extend(line.chars().map(space));
        } else {
            left += line;
        }
        start += line.len();
    }
    left
}

/// Formats text that parses.
pub(crate) fn layout_of(text: &str) -> String {
    layout(text, Language::Pasm)
}
