//! Tokens of BERT: [`WordPieces`], words that are divided into the longest known pieces.

use std::collections::HashMap;

use unicode_normalization::UnicodeNormalization;

use super::categories::{is_control, is_mark, is_punctuation};

/// Begin of tokens that continue a word.
pub(super) const CONTINUES: &str = "##";

/// Changes of a text before it is divided, and the treatment of unknown words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct WordPieces {
    /// Whether control characters are left out, and blanks become spaces.
    pub(super) cleans: bool,
    /// Whether each Chinese character is a word.
    pub(super) divides_chinese: bool,
    /// Whether accents are left out.
    pub(super) strips_marks: bool,
    /// Whether letters become lower case.
    pub(super) lowers: bool,
    /// Token of words that are not known.
    pub(super) unknown: usize,
    /// Largest number of characters of a word that may be known.
    pub(super) longest: usize,
}

impl WordPieces {
    /// Adds the tokens of a text without special tokens. `numbers` has the tokens by their texts.
    pub(super) fn encode(self, text: &str, numbers: &HashMap<String, usize>, tokens: &mut Vec<usize>) {
        for word in words(&self.normalized(text)) {
            match self.pieces(word, numbers) {
                Some(pieces) => tokens.extend(pieces),
                None => tokens.push(self.unknown),
            }
        }
    }

    fn normalized(self, text: &str) -> String {
        let mut text = text.to_owned();
        if self.cleans {
            let kept = text.chars().filter(|&c| !is_control(c));
            text = kept.map(|c| if c.is_whitespace() { ' ' } else { c }).collect();
        }
        if self.divides_chinese {
            let apart = |c: char| if is_chinese(c) { format!(" {c} ") } else { c.to_string() };
            text = text.chars().map(apart).collect();
        }
        if self.strips_marks {
            text = text.nfd().filter(|&c| !is_mark(c)).collect();
        }
        // Character by character: a sigma at the end of a word is like others.
        if self.lowers { text.chars().flat_map(char::to_lowercase).collect() } else { text }
    }

    /// Returns the tokens of a word, each as long as possible; `None` if a part is not known.
    fn pieces(self, word: &str, numbers: &HashMap<String, usize>) -> Option<Vec<usize>> {
        if word.chars().count() > self.longest {
            return None;
        }
        let (mut pieces, mut rest) = (Vec::new(), word);
        while !rest.is_empty() {
            let begin = if pieces.is_empty() { "" } else { CONTINUES };
            let ends = rest.char_indices().map(|(place, c)| place + c.len_utf8()).rev();
            let mut known =
                ends.filter_map(|end| Some((end, *numbers.get(&format!("{begin}{}", &rest[..end]))?)));
            let (end, token) = known.next()?;
            pieces.push(token);
            rest = &rest[end..];
        }
        Some(pieces)
    }
}

/// Divides a text at blanks, which are left out, and around punctuation.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    for part in text.split_whitespace() {
        let mut rest = part;
        while let Some((place, c)) = rest.char_indices().find(|&(_, c)| is_punctuation(c)) {
            let (before, after) = rest.split_at(place);
            let (mark, after) = after.split_at(c.len_utf8());
            words.extend([before, mark]);
            rest = after;
        }
        words.push(rest);
    }
    words.retain(|word| !word.is_empty());
    words
}

/// Whether a character is one of the ideographs that BERT's authors list.
fn is_chinese(character: char) -> bool {
    matches!(u32::from(character),
        0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x2_0000..=0x2_A6DF
        | 0x2_A700..=0x2_B81F | 0x2_B920..=0x2_CEAF | 0x2_F800..=0x2_FA1F)
}

/// Joins the texts of tokens, with a space before each word.
pub(super) fn joined<'a>(texts: impl Iterator<Item = &'a String>) -> String {
    let mut joined = String::new();
    for (index, text) in texts.enumerate() {
        match text.strip_prefix(CONTINUES).filter(|_| index > 0) {
            Some(rest) => joined.push_str(rest),
            None if index == 0 => joined.push_str(text),
            None => joined.extend([" ", text]),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::*;

    const PLAIN: WordPieces = WordPieces {
        cleans: true,
        divides_chinese: true,
        strips_marks: true,
        lowers: true,
        unknown: 0,
        longest: 8,
    };

    #[test]
    fn words_are_divided_into_the_longest_pieces() {
        let texts = ["[UNK]", "un", "##able", "##a", "##ble", "!", "\u{4e00}", "e"];
        let numbers: HashMap<String, usize> = texts.iter().map(|&text| text.to_owned()).zip(0..).collect();
        let tokens = |text: &str| {
            let mut tokens = Vec::new();
            PLAIN.encode(text, &numbers, &mut tokens);
            tokens
        };
        assert_eq!(tokens("Unable  unablable!\n"), [1, 2, 0, 5]);
        assert_eq!(tokens("unblea !un"), [1, 4, 3, 5, 1]);
        assert_eq!(tokens("un\u{4e00}\u{4e00}un \u{c9}\u{200b}"), [1, 6, 6, 1, 7]);
        assert!(tokens("\t \u{301}").is_empty());
        let all = texts.map(str::to_owned);
        assert_eq!(joined([1, 2, 5, 3].iter().map(|&token| &all[token])), "unable !a");
    }

    #[test]
    fn changes_of_a_text_are_options() {
        let none =
            WordPieces { cleans: false, divides_chinese: false, strips_marks: false, lowers: false, ..PLAIN };
        let text = "\u{c9}\u{200b}\u{4e00}\t\u{3a3}";
        assert_eq!(none.normalized(text), text);
        assert_eq!(WordPieces { lowers: true, ..none }.normalized(text), "\u{e9}\u{200b}\u{4e00}\t\u{3c3}");
        assert_eq!(WordPieces { cleans: true, ..none }.normalized(text), "\u{c9}\u{4e00} \u{3a3}");
        assert_eq!(WordPieces { strips_marks: true, ..none }.normalized(text), "E\u{200b}\u{4e00}\t\u{3a3}");
    }
}
