//! Bytes as characters and as tokens.
//!
//! GPT-2's tokenizer writes each byte as a character: printable ones of Latin-1 as themselves, the
//! others as characters starting at U+0100. SentencePiece has tokens such as `<0x0A>`.

/// Whether a byte is written as the character with its number.
const fn is_plain(byte: u8) -> bool {
    matches!(byte, b'!'..=b'~' | 0xA1..=0xAC | 0xAE..=0xFF)
}

/// Characters of all bytes. Bytes that are not plain have consecutive ones, starting at U+0100.
const CHARACTERS: [char; 256] = {
    let mut characters = ['\0'; 256];
    let (mut byte, mut other) = (0, 0x100);
    while byte < characters.len() {
        characters[byte] = if is_plain(byte as u8) {
            byte as u8 as char
        } else {
            other += 1;
            match char::from_u32(other - 1) {
                Some(character) => character,
                None => panic!("a number is not a character"),
            }
        };
        byte += 1;
    }
    characters
};

/// Returns the character of a byte.
fn character(byte: u8) -> char {
    CHARACTERS[usize::from(byte)]
}

/// Returns the byte of a character; `None` if there is none.
fn byte(of: char) -> Option<u8> {
    (0..=u8::MAX).find(|&byte| character(byte) == of)
}

/// Returns the bytes of a text as characters.
pub(super) fn as_characters(text: &str) -> String {
    text.bytes().map(character).collect()
}

/// Returns the bytes of a token's characters. A token with other characters is a text itself.
pub(super) fn of_characters(token: &str) -> Vec<u8> {
    token.chars().map(byte).collect::<Option<_>>().unwrap_or_else(|| token.as_bytes().to_vec())
}

/// Returns the text of the token of a byte.
pub(super) fn token_of(byte: u8) -> String {
    format!("<0x{byte:02X}>")
}

/// Joins the texts of tokens. Tokens of bytes become characters if they are valid UTF-8 together,
/// and otherwise one U+FFFD each.
pub(super) fn with_fallback<'a>(texts: impl Iterator<Item = &'a String>) -> String {
    let (mut joined, mut bytes) = (String::new(), Vec::new());
    for text in texts {
        match of_token(text) {
            Some(byte) => bytes.push(byte),
            None => {
                flush(&mut bytes, &mut joined);
                joined.push_str(text);
            }
        }
    }
    flush(&mut bytes, &mut joined);
    joined
}

fn of_token(text: &str) -> Option<u8> {
    let digits = text.strip_prefix("<0x")?.strip_suffix('>')?;
    u8::from_str_radix(digits, 16).ok().filter(|&byte| token_of(byte) == text)
}

fn flush(bytes: &mut Vec<u8>, joined: &mut String) {
    let count = bytes.len();
    match String::from_utf8(std::mem::take(bytes)) {
        Ok(text) => joined.push_str(&text),
        Err(_) => joined.extend(std::iter::repeat_n(char::REPLACEMENT_CHARACTER, count)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_have_characters_of_their_own() {
        for number in 0..=u8::MAX {
            assert_eq!(byte(character(number)), Some(number));
            assert_eq!(of_token(&token_of(number)), Some(number));
        }
        assert_eq!(as_characters(" \n\u{e9}"), "\u{120}\u{10a}\u{c3}\u{a9}");
        assert_eq!(of_characters("\u{120}a"), b" a");
        assert_eq!(of_characters("a\u{4e00}"), "a\u{4e00}".as_bytes());
    }
}
