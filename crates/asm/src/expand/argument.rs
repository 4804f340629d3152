//! Operands of directives: [`times`], [`condition`], and [`parts`] between commas.

use npukit_base::Span;
use npukit_isa::token::Token;

use crate::comment::quoted;
use crate::error::{AsmError, source_span};
use crate::expression::{Fault, evaluate, evaluate_condition};
use crate::spans::span_of;
use crate::symbols::Symbols;

/// Reads the operand of `.rept NUMBER`.
pub(super) fn times(word: Token<'_>, tokens: &[Token<'_>], symbols: &Symbols) -> Result<usize, AsmError> {
    let found = evaluate(tokens, &|name| symbols.value(name));
    let value = whole(found, "rept", "a number of times", word, tokens)?;
    usize::try_from(value).map_err(|_| {
        let expected = "a number of times";
        let span = source_span(span_of(tokens));
        AsmError::Argument {
            directive: "rept",
            expected,
            found: value.to_string(),
            span,
            help: example("rept"),
        }
    })
}

/// Reads the operand of `.if EXPRESSION`.
pub(super) fn condition(
    directive: &'static str,
    word: Token<'_>,
    tokens: &[Token<'_>],
    symbols: &Symbols,
) -> Result<bool, AsmError> {
    let found = evaluate_condition(tokens, &|name| symbols.value(name));
    Ok(whole(found, directive, "a condition", word, tokens)? != 0)
}

/// Reads the operand of `.ifdef NAME`.
pub(super) fn name<'a>(
    directive: &'static str,
    word: Token<'_>,
    tokens: &[Token<'a>],
) -> Result<&'a str, AsmError> {
    match tokens {
        [name] if Symbols::is_name(name.text) => Ok(name.text),
        _ => Err(wrong(directive, "a name", word, tokens)),
    }
}

/// Returns the value of an expression that must extend over all of `tokens`.
fn whole(
    found: Result<(i128, usize), Fault>,
    directive: &'static str,
    expected: &'static str,
    word: Token<'_>,
    tokens: &[Token<'_>],
) -> Result<i128, AsmError> {
    match found {
        Ok((value, used)) if used == tokens.len() => Ok(value),
        Ok((_, at)) | Err(Fault::Missing { at } | Fault::Unclosed { at }) => {
            let rest = tokens.get(at..).and_then(|rest| rest.get(..1)).unwrap_or_default();
            Err(wrong(directive, expected, tokens.last().copied().unwrap_or(word), rest))
        }
        Err(Fault::Value { reason, span }) => {
            let text = tokens.iter().map(|token| token.text).collect();
            let help = format!("`.{directive}` needs {expected}");
            Err(AsmError::Expression { text, reason, span: source_span(span), help })
        }
    }
}

/// Returns the error for unexpected tokens, or for missing ones after `before`.
fn wrong(
    directive: &'static str,
    expected: &'static str,
    before: Token<'_>,
    tokens: &[Token<'_>],
) -> AsmError {
    let (found, span) = match tokens {
        [] => ("the end of the line".to_owned(), before.span),
        some => (format!("`{}`", some.iter().map(|token| token.text).collect::<String>()), span_of(some)),
    };
    AsmError::Argument { directive, expected, found, span: source_span(span), help: example(directive) }
}

/// Returns an example of the directive.
pub(super) fn example(directive: &str) -> &'static str {
    match directive {
        "rept" => "for example `.rept 4` or `.rept rows / 2`, with names that are defined before",
        "ifdef" | "ifndef" => "for example `.ifdef rows`",
        "macro" => "for example `.macro load row, size=4`",
        "include" => "for example `.include \"tiles.s\"`",
        "else" | "endif" => "it has no operands",
        _ => "for example `.if rows > 4 && rows != 8`, with names that are defined before",
    }
}

/// Part of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Part<'a> {
    pub text: &'a str,
    pub span: Span,
}

/// Splits `text`, which starts at byte `start`, at commas; empty text has no parts. Commas within
/// brackets or quotation marks do not separate parts.
pub(crate) fn parts(text: &str, start: usize) -> Vec<Part<'_>> {
    let (mut parts, mut from, mut at, mut open) = (Vec::new(), 0, 0, 0_usize);
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        match rest.chars().next() {
            Some('(' | '[' | '{') => open += 1,
            Some(')' | ']' | '}') => open = open.saturating_sub(1),
            Some(',') if open == 0 => {
                parts.push(part(text, from, at, start));
                from = at + 1;
            }
            _ => {}
        }
        at += quoted(rest).or_else(|| rest.chars().next().map(char::len_utf8)).unwrap_or(1);
    }
    if !text.trim().is_empty() {
        parts.push(part(text, from, text.len(), start));
    }
    parts
}

fn part(text: &str, from: usize, to: usize, start: usize) -> Part<'_> {
    let whole = text.get(from..to).unwrap_or_default();
    let (text, before) = (whole.trim(), whole.len() - whole.trim_start().len());
    let begin = start + from + before;
    Part { text, span: Span::new(begin, begin + text.len()) }
}

/// Returns the text between quotation marks.
pub(crate) fn unquoted(text: &str) -> Option<&str> {
    text.strip_prefix('"')?.strip_suffix('"').filter(|inner| !inner.contains('"'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commas_in_brackets_are_no_ends() {
        let texts = |text| parts(text, 0).iter().map(|part| part.text.to_owned()).collect::<Vec<_>>();
        assert_eq!(texts(" a, [b, c], f(d, e) ,\"g, h\""), ["a", "[b, c]", "f(d, e)", "\"g, h\""]);
        assert_eq!(texts(""), [""; 0]);
        assert_eq!(texts(",a,"), ["", "a", ""]);
        assert_eq!(parts(" é,  b", 7)[1].span, Span::new(13, 14));
    }
}
