//! Tokens of SentencePiece: [`Characters`], with U+2581 for a space.

use std::collections::HashMap;

use super::bytes;

/// Character that stands for a space.
pub(super) const SPACE: char = '\u{2581}';

/// Texts that begin with an additional space. Special tokens divide a text into parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Begin {
    /// None.
    Never,
    /// All parts.
    Always,
    /// All parts that do not begin with a space.
    WithoutSpace,
    /// The part at the beginning of the text, if it does not begin with a space.
    First,
}

/// Tokens of single characters, before they are merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Characters {
    pub(super) begin: Begin,
    /// Whether a token does not have a space after other characters.
    pub(super) divides: bool,
    /// Token of characters without tokens; `None` to leave them out.
    pub(super) unknown: Option<usize>,
}

impl Characters {
    /// Returns a part of a text with [`SPACE`] for spaces. `is_first` is whether it begins the
    /// text.
    pub(super) fn spaced(self, text: &str, is_first: bool) -> String {
        let text = text.replace(' ', SPACE.encode_utf8(&mut [0; 4]));
        let begins = match self.begin {
            Begin::Never => false,
            Begin::Always => true,
            Begin::WithoutSpace => !text.starts_with(SPACE),
            Begin::First => is_first && !text.starts_with(SPACE),
        };
        if begins { format!("{SPACE}{text}") } else { text }
    }

    /// Divides a text into parts within which tokens are merged.
    pub(super) fn words(self, text: &str) -> Vec<&str> {
        if !self.divides {
            return vec![text];
        }
        let begins = text.match_indices(SPACE).map(|(place, _)| place);
        let begins: Vec<usize> = [0].into_iter().chain(begins.filter(|&place| place > 0)).collect();
        let ends = begins.iter().skip(1).copied().chain([text.len()]);
        begins.iter().zip(ends).map(|(&begin, end)| &text[begin..end]).collect()
    }

    /// Returns the tokens of the characters of a word, or of their bytes. Consecutive unknown
    /// characters are one token.
    pub(super) fn tokens(self, word: &str, numbers: &HashMap<String, usize>) -> Vec<usize> {
        let mut tokens = Vec::new();
        for character in word.chars() {
            let mut buffer = [0; 4];
            let text: &str = character.encode_utf8(&mut buffer);
            let byte = |byte: u8| numbers.get(&bytes::token_of(byte)).copied();
            match numbers.get(text) {
                Some(&token) => tokens.push(token),
                None => match text.bytes().map(byte).collect::<Option<Vec<usize>>>() {
                    Some(bytes) => tokens.extend(bytes),
                    None => tokens.extend(self.unknown.filter(|&token| tokens.last() != Some(&token))),
                },
            }
        }
        tokens
    }

    /// Joins the texts of tokens, without the additional space.
    pub(super) fn decoded<'a>(self, texts: impl Iterator<Item = &'a String>) -> String {
        let mut text = bytes::with_fallback(texts).replace(SPACE, " ");
        if self.begin != Begin::Never && text.starts_with(' ') {
            text.remove(0);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_are_added_at_the_beginning() {
        let spaced = |begin, text: &str, is_first| {
            let characters = Characters { begin, divides: false, unknown: None };
            characters.spaced(text, is_first).replace(SPACE, "_")
        };
        for (begin, expected) in [
            (Begin::Never, ["a b", " b", "a"]),
            (Begin::Always, [" a b", "  b", " a"]),
            (Begin::WithoutSpace, [" a b", " b", " a"]),
            (Begin::First, [" a b", " b", "a"]),
        ] {
            let found = [spaced(begin, "a b", true), spaced(begin, " b", true), spaced(begin, "a", false)];
            assert_eq!(found, expected.map(|text| text.replace(' ', "_")), "{begin:?}");
        }
        let divides = Characters { begin: Begin::Never, divides: true, unknown: None };
        assert_eq!(divides.words("a\u{2581}\u{2581}b"), ["a", "\u{2581}", "\u{2581}b"]);
        assert_eq!(divides.words("\u{2581}b"), ["\u{2581}b"]);
    }

    #[test]
    fn unknown_characters_are_bytes_or_one_token() {
        let numbers = |texts: &[&str]| texts.iter().map(|&text| text.to_owned()).zip(0..).collect();
        let characters = Characters { begin: Begin::Never, divides: false, unknown: Some(0) };
        let tokens = characters.tokens("a\u{e9}\u{e9}b", &numbers(&["?", "a", "<0xC3>", "<0xA9>"]));
        assert_eq!(tokens, [1, 2, 3, 2, 3, 0]);
        assert_eq!(characters.tokens("\u{e9}\u{e9}a\u{e9}", &numbers(&["?", "a", "<0xC3>"])), [0, 1, 0]);
    }
}
