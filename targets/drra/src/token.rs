//! Tokens of assembly and of PASM: [`tokens`].
//!
//! Identifiers, numbers with a sign (decimal, or after `0b`, `0o`, `0d`, `0x`), strings in double quotes and single
//! characters; `#` begins a comment.

use npukit_base::Span;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind<'a> {
    /// A letter, then letters, digits and underscores.
    Identifier(&'a str),
    /// A number.
    Number(i64),
    /// What stands between double quotes, in a line.
    Text(&'a str),
    /// One of `= , { } ( ) < >`.
    Mark(char),
    /// Anything else: digits that are no number, a quote that does not end.
    Other(&'a str),
}

/// A token and where it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'a> {
    /// What it is.
    pub kind: TokenKind<'a>,
    /// Where it stands.
    pub span: Span,
}

const MARKS: [char; 8] = ['=', ',', '{', '}', '(', ')', '<', '>'];

/// Cuts a text. Every text has tokens; what is none is [`TokenKind::Other`].
pub fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let first = rest.chars().next().unwrap_or(' ');
        let size = match first {
            '#' => rest.find('\n').unwrap_or(rest.len()),
            '"' => quoted(rest),
            '+' | '-' => 1 + word(rest.get(1..).unwrap_or_default()),
            _ if is_word(first) => word(rest),
            _ => first.len_utf8(),
        };
        let piece = rest.get(..size).unwrap_or(rest);
        if first != '#' && !first.is_whitespace() {
            found.push(Token { kind: kind(piece, first), span: Span::new(at, at + size) });
        }
        at += size;
    }
    found
}

/// Bytes up to the closing quote, or up to the end of the line when there is none.
fn quoted(rest: &str) -> usize {
    let inner = rest.get(1..).unwrap_or_default();
    match inner.find(['"', '\n']) {
        Some(end) if inner.as_bytes().get(end) == Some(&b'"') => end + 2,
        Some(end) => end + 1,
        None => rest.len(),
    }
}

fn word(rest: &str) -> usize {
    rest.find(|letter| !is_word(letter)).unwrap_or(rest.len())
}

const fn is_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

fn kind(piece: &str, first: char) -> TokenKind<'_> {
    match first {
        '"' => {
            let inner = piece.strip_prefix('"').and_then(|inner| inner.strip_suffix('"'));
            inner.map_or(TokenKind::Other(piece), TokenKind::Text)
        }
        _ if first.is_ascii_alphabetic() => TokenKind::Identifier(piece),
        _ if MARKS.contains(&first) => TokenKind::Mark(first),
        _ => number(piece).map_or(TokenKind::Other(piece), TokenKind::Number),
    }
}

/// The value of a number with an optional sign.
fn number(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let lower = digits.to_ascii_lowercase();
    let (digits, radix) = [("0b", 2), ("0o", 8), ("0d", 10), ("0x", 16)]
        .into_iter()
        .find_map(|(prefix, radix)| Some((lower.strip_prefix(prefix)?, radix)))
        .unwrap_or((&lower, 10));
    // A second sign is no digit.
    let magnitude = i64::from_str_radix(digits, radix).ok().filter(|_| !digits.starts_with(['+', '-']))?;
    Some(if negative { -magnitude } else { magnitude })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<TokenKind<'_>> {
        tokens(text).iter().map(|token| token.kind).collect()
    }

    #[test]
    fn texts_are_cut() {
        use TokenKind::{Identifier, Mark, Number, Text};
        let cut = kinds("rep<a>(iter=-3, # all\n s=\"x < y\")");
        let head = [Identifier("rep"), Mark('<'), Identifier("a"), Mark('>'), Mark('('), Identifier("iter")];
        let tail = [Mark('='), Number(-3), Mark(','), Identifier("s"), Mark('='), Text("x < y"), Mark(')')];
        assert_eq!(cut, [&head[..], &tail[..]].concat());
    }

    #[test]
    fn numbers_have_four_bases() {
        for (text, value) in [("0b101", 5), ("0o17", 15), ("0d12", 12), ("-0xFf", -255), ("+7", 7)] {
            assert_eq!(kinds(text), [TokenKind::Number(value)], "{text}");
        }
        for text in ["1z", "0x", "--1", "0x-1", "99999999999999999999", "\"open", "é", "-"] {
            assert!(matches!(kinds(text).first(), Some(TokenKind::Other(_))), "{text}");
        }
    }

    #[test]
    fn spans_are_of_bytes() {
        let spans: Vec<_> = tokens("é ab").iter().map(|token| (token.span.start, token.span.end)).collect();
        assert_eq!(spans, [(0, 2), (3, 5)]);
    }
}
