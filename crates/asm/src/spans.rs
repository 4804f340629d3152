//! Spans of tokens.

use npukit_base::Span;
use npukit_isa::token::Token;

use crate::symbols::Symbols;

pub(crate) fn span_of(tokens: &[Token<'_>]) -> Span {
    match (tokens.first(), tokens.last()) {
        (Some(first), Some(last)) => first.span.to(last.span),
        _ => Span::default(),
    }
}

/// Returns the span of the mnemonic at the start of a line: words joined by dots and signs, without
/// white space. The first field begins at `operands`.
pub(crate) fn mnemonic_span(tokens: &[Token<'_>], operands: Option<usize>) -> Option<Span> {
    let mut span = tokens.first()?.span;
    let belongs = |token: &Token<'_>| {
        Symbols::is_name(token.text) || token.is_number() || matches!(token.text, "." | "@")
    };
    for token in tokens.iter().skip(1) {
        if token.span.start != span.end
            || !belongs(token)
            || operands.is_some_and(|at| token.span.start >= at)
        {
            break;
        }
        span = span.to(token.span);
    }
    Some(span)
}
