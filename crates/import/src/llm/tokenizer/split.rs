//! [`Split`]: division of a text into words, within which tokens are merged.
//!
//! Each function is a regular expression of a tokenizer's authors, which is above it. The tests of
//! the tokenizers compare the results with a program that evaluates the expressions.

use super::letters::is_letter;

/// Division of a text into words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Split {
    /// As for GPT-2.
    Gpt2,
    /// Each digit apart, then as for GPT-2.
    Digits,
    /// As for Llama 3: up to three digits in a word.
    Llama3,
    /// As for Qwen 2: like `Llama3`, with each digit apart.
    Qwen2,
}

/// Expressions of the tokenizer files for Llama 3 and Qwen 2.
const EXPRESSIONS: [(&str, Split); 2] = [
    (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        Split::Llama3,
    ),
    (
        r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+",
        Split::Qwen2,
    ),
];

impl Split {
    /// Returns the division by a regular expression; `None` if it is not supported.
    pub(super) fn of_expression(expression: &str) -> Option<Self> {
        EXPRESSIONS.iter().find(|(own, _)| *own == expression).map(|&(_, split)| split)
    }

    /// Returns the division with a name of `tokenizer.ggml.pre`; `None` if it is not supported.
    pub(super) fn of_gguf(name: &str) -> Option<Self> {
        match name {
            "gpt-2" => Some(Self::Gpt2),
            "smollm" => Some(Self::Digits),
            "llama3" | "llama-v3" | "llama-bpe" => Some(Self::Llama3),
            "qwen2" => Some(Self::Qwen2),
            _ => None,
        }
    }

    /// Divides a text. The words are all of the text.
    pub(super) fn words(self, text: &str) -> Vec<&str> {
        match self {
            Self::Gpt2 => words(text, gpt2),
            Self::Llama3 => words(text, |text| llama3(text, 3)),
            Self::Qwen2 => words(text, |text| llama3(text, 1)),
            Self::Digits => {
                let pieces = words(text, |text| match run(text, 1, char::is_numeric) {
                    0 => run(text, usize::MAX, |c| !c.is_numeric()),
                    digit => digit,
                });
                pieces.into_iter().flat_map(|piece| words(piece, gpt2)).collect()
            }
        }
    }
}

/// Divides a text; `next` returns the length of the first word in bytes.
fn words(mut text: &str, next: impl Fn(&str) -> usize) -> Vec<&str> {
    let mut words = Vec::new();
    while !text.is_empty() {
        let (word, rest) = text.split_at(next(text));
        words.push(word);
        text = rest;
    }
    words
}

/// Returns the length in bytes of at most `most` characters with a property at the begin of `text`.
fn run(text: &str, most: usize, has: impl Fn(char) -> bool) -> usize {
    text.chars().take(most).take_while(|&c| has(c)).map(char::len_utf8).sum()
}

fn is_other(c: char) -> bool {
    !c.is_whitespace() && !is_letter(c) && !c.is_numeric()
}

fn is_newline(c: char) -> bool {
    matches!(c, '\r' | '\n')
}

/// `'s|'t|'re|'ve|'m|'ll|'d`: returns the length in bytes, or 0. `fold` maps letters to lower case.
fn contraction(text: &str, fold: impl Fn(char) -> char) -> usize {
    let Some(rest) = text.strip_prefix('\'') else { return 0 };
    for ending in ["s", "t", "re", "ve", "m", "ll", "d"] {
        let found = rest.chars().map(&fold).take(ending.len());
        if found.eq(ending.chars()) {
            return 1 + run(rest, ending.len(), |_| true);
        }
    }
    0
}

/// `\s+(?!\S)|\s+`: spaces except the last one before a word.
fn spaces(text: &str) -> usize {
    let all = run(text, usize::MAX, char::is_whitespace);
    let last = text[..all].chars().next_back().map_or(0, char::len_utf8);
    if all == text.len() || all == last { all } else { all - last }
}

/// `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
fn gpt2(text: &str) -> usize {
    let contraction = contraction(text, |c| c);
    if contraction > 0 {
        return contraction;
    }
    let space = run(text, 1, |c| c == ' ');
    let properties: [&dyn Fn(char) -> bool; 3] = [&is_letter, &char::is_numeric, &is_other];
    let mut words = properties.iter().map(|has| run(&text[space..], usize::MAX, has));
    words.find(|&word| word > 0).map_or_else(|| spaces(text), |word| space + word)
}

/// The expressions of [`EXPRESSIONS`], with at most `digits` digits in a word.
fn llama3(text: &str, digits: usize) -> usize {
    // The long s is a lower case of S, too.
    let fold = |c: char| if c == '\u{17f}' { 's' } else { c.to_ascii_lowercase() };
    let contraction = contraction(text, fold);
    if contraction > 0 {
        return contraction;
    }
    let before = run(text, 1, |c| !is_newline(c) && !is_letter(c) && !c.is_numeric());
    let letters = run(&text[before..], usize::MAX, is_letter);
    if letters > 0 {
        return before + letters;
    }
    let digits = run(text, digits, char::is_numeric);
    if digits > 0 {
        return digits;
    }
    let space = run(text, 1, |c| c == ' ');
    let others = run(&text[space..], usize::MAX, is_other);
    if others > 0 {
        let end = space + others;
        return end + run(&text[end..], usize::MAX, is_newline);
    }
    let blank = &text[..run(text, usize::MAX, char::is_whitespace)];
    blank.rfind(is_newline).map_or_else(|| spaces(text), |last| last + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_those_of_the_expressions() {
        let words = |split: Split, text: &'static str| split.words(text);
        assert_eq!(
            words(Split::Gpt2, "I'm  42 a\n\n b!? "),
            ["I", "'m", " ", " 42", " a", "\n\n", " b", "!?", " "]
        );
        assert_eq!(words(Split::Digits, "a 42b"), ["a", " ", "4", "2", "b"]);
        assert_eq!(
            words(Split::Llama3, "I'M 12345\n \n x(y)"),
            ["I", "'M", " ", "123", "45", "\n \n", " x", "(y", ")"]
        );
        assert_eq!(words(Split::Qwen2, "12 !!\n\nz"), ["1", "2", " !!\n\n", "z"]);
    }
}
