//! [`tokens`]: splits assembly and PASM into tokens.

use npukit_base::Span;

/// Token with its span.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    pub kind: TokenKind,
    pub text: &'a str,
    pub span: Span,
}

impl Token<'_> {
    /// Whether the token is this punctuation.
    pub fn is(&self, mark: &str) -> bool {
        self.kind == TokenKind::Punctuation && self.text == mark
    }
}

/// Kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    Integer(i64),
    Identifier,
    /// Quoted text, including the quotes.
    Text,
    /// One of `= , { } ( ) < >`.
    Punctuation,
    /// Comment from `#` to the end of the line.
    Comment,
}

/// Characters that do not form a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct NoToken {
    pub found: String,
    /// Reason.
    pub fault: &'static str,
    pub span: Span,
}

/// Splits `text` into tokens, including comments. Text that is not a token is reported and left
/// out.
pub(crate) fn tokens(text: &str) -> (Vec<Token<'_>>, Vec<NoToken>) {
    let (mut tokens, mut errors) = (Vec::new(), Vec::new());
    let mut start = 0;
    while let Some(first) = text.get(start..).and_then(|rest| rest.chars().next()) {
        let rest = &text[start..];
        let size = if first.is_whitespace() { first.len_utf8() } else { size(rest, first) };
        let piece = &rest[..size];
        let span = Span::new(start, start + size);
        start += size;
        if first.is_whitespace() {
            continue;
        }
        match kind(piece, first) {
            Ok(kind) => tokens.push(Token { kind, text: piece, span }),
            Err(fault) => {
                let found = piece.chars().take(24).collect();
                errors.push(NoToken { found, fault, span });
            }
        }
    }
    (tokens, errors)
}

/// Length in bytes of the token that begins with `first`.
fn size(rest: &str, first: char) -> usize {
    // Default: the last line ends with the text.
    let line = rest.find('\n').unwrap_or(rest.len());
    let word = |from: usize| {
        let tail = &rest[from..];
        // Default: the word extends to the end of the text.
        from + tail.find(|letter: char| !is_word(letter)).unwrap_or(tail.len())
    };
    match first {
        '#' => line,
        '"' => rest.get(1..line).and_then(|inner| inner.find('"')).map_or(line, |end| end + 2),
        '+' | '-' => word(1),
        _ if is_word(first) => word(0),
        _ => first.len_utf8(),
    }
}

const fn is_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

fn kind(piece: &str, first: char) -> Result<TokenKind, &'static str> {
    match first {
        '#' => Ok(TokenKind::Comment),
        '"' if piece.len() > 1 && piece.ends_with('"') => Ok(TokenKind::Text),
        '"' => Err("a quoted text must end with a quotation mark on the same line"),
        '=' | ',' | '{' | '}' | '(' | ')' | '<' | '>' => Ok(TokenKind::Punctuation),
        '+' | '-' | '0'..='9' => integer(piece)
            .map(TokenKind::Integer)
            .ok_or("a number must be decimal or begin with 0b, 0o, 0d or 0x, and have at most 63 bits"),
        _ if first.is_ascii_alphabetic() => Ok(TokenKind::Identifier),
        '_' => Err("a name must begin with a letter"),
        _ => Err("unexpected character"),
    }
}

/// Parses a number with an optional sign and base.
fn integer(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        // Default: the sign is optional.
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    if !digits.starts_with(|digit: char| digit.is_ascii_digit()) {
        return None;
    }
    let lower = digits.to_ascii_lowercase();
    let bases = [("0b", 2), ("0o", 8), ("0d", 10), ("0x", 16)];
    let base = bases.iter().find_map(|(prefix, base)| Some((lower.strip_prefix(prefix)?, *base)));
    // Default: a number without a prefix is decimal.
    let (digits, base) = base.unwrap_or((&lower, 10));
    let value = u64::from_str_radix(digits, base).ok().filter(|_| !digits.starts_with('+'))?;
    let value = i64::try_from(value).ok()?;
    Some(if negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_signs_and_bases() {
        let cases = [("12", 12), ("-0x10", -16), ("+0b101", 5), ("0o17", 15), ("0d19", 19)];
        for (text, value) in cases {
            assert_eq!(integer(text), Some(value), "{text}");
        }
        for text in ["", "-", "0x", "1z", "0x+1", "--1", "9223372036854775808"] {
            assert_eq!(integer(text), None, "{text}");
        }
    }

    #[test]
    fn what_is_no_token_is_named_and_left_out() {
        let (found, errors) = tokens("rop<a> 1_ é \"x\" # end\n\"open");
        let texts: Vec<&str> = found.iter().map(|token| token.text).collect();
        assert_eq!(texts, ["rop", "<", "a", ">", "\"x\"", "# end"]);
        assert_eq!(errors.len(), 3);
    }
}
