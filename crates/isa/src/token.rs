//! Tokens of templates and sources.

use npukit_base::Span;

/// A run of letters, digits and underscores, or any other single character except white space.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'a> {
    /// Text of the token.
    pub text: &'a str,
    /// Byte range in the file.
    pub span: Span,
}

impl Token<'_> {
    /// Whether the token begins with a digit, like a number.
    pub fn is_number(&self) -> bool {
        self.text.starts_with(|letter: char| letter.is_ascii_digit())
    }
}

/// Splits `text`, which starts at byte `start` of its file, into tokens.
pub fn tokens(text: &str, start: usize) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let size = match first {
            _ if is_word(first) => rest.find(|letter| !is_word(letter)).unwrap_or(rest.len()),
            _ => first.len_utf8(),
        };
        let (head, tail) = rest.split_at(size);
        if !first.is_whitespace() {
            let begin = start + text.len() - rest.len();
            tokens.push(Token { text: head, span: Span::new(begin, begin + size) });
        }
        rest = tail;
    }
    tokens
}

const fn is_word(letter: char) -> bool {
    letter.is_ascii_alphanumeric() || letter == '_'
}

/// Parses `123`, `0x7b` or `0b111_1011`; `None` if it is not a number or exceeds 64 bits.
pub fn number(text: &str) -> Option<u64> {
    if !text.starts_with(|letter: char| letter.is_ascii_digit()) {
        return None;
    }
    let digits = text.replace('_', "").to_ascii_lowercase();
    match (digits.strip_prefix("0x"), digits.strip_prefix("0b")) {
        (Some(digits), _) => u64::from_str_radix(digits, 16).ok(),
        (_, Some(digits)) => u64::from_str_radix(digits, 2).ok(),
        _ => digits.parse().ok(),
    }
}

#[cfg(test)]
mod tests {
    use super::{number, tokens};

    #[test]
    fn words_and_single_characters() {
        let texts: Vec<&str> = tokens("move.acc a[0x10] <- é", 0).iter().map(|token| token.text).collect();
        assert_eq!(texts, ["move", ".", "acc", "a", "[", "0x10", "]", "<", "-", "é"]);
        assert_eq!(tokens("  ab", 7).first().map(|token| token.span.start), Some(9));
    }

    #[test]
    fn numbers_in_three_bases() {
        let cases =
            [("12", Some(12)), ("0xFF_ff", Some(0xffff)), ("0b101", Some(5)), ("0x", None), ("1z", None)];
        for (text, value) in cases {
            assert_eq!(number(text), value, "{text}");
        }
        assert_eq!(number("18446744073709551616"), None);
        assert_eq!(number("+5"), None);
    }
}
