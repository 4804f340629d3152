//! [`Tokenizer`]: conversion between text and tokens, by merging pairs (byte-pair encoding).
//!
//! `tokenizer.json` files and the metadata of GGUF files are read, as far as they have one of the
//! supported forms: merges on bytes with the words of GPT-2, SmolLM, Llama 3 or Qwen 2, and merges
//! on characters with tokens for single bytes, as SentencePiece has them.
//!
//! The crate `tokenizers` 0.22.2 without its C and network parts needs 72 crates, 33 of them new
//! here. The first `cargo run --release -- demo` would then build at least 145 crates instead of
//! 112, and 120 are allowed. This module adds two.

mod bpe;
mod bytes;
mod gguf_file;
mod json_file;
mod letters;
mod split;

use std::collections::HashMap;

use unicode_normalization::UnicodeNormalization;

use super::LlmError;
use super::gguf::Gguf;
use bpe::Merges;
use split::Split;

/// Character that stands for a space in tokens of the SentencePiece form.
const SPACE: char = '\u{2581}';

/// Conversion between text and tokens.
#[derive(Clone, Debug, PartialEq)]
pub struct Tokenizer {
    /// Text of each token; empty for numbers without a token.
    texts: Vec<String>,
    numbers: HashMap<String, usize>,
    merges: Merges,
    /// Whether a word that is a token is not divided.
    keeps_words: bool,
    specials: Vec<Special>,
    form: Form,
    /// Tokens before a text, and after it.
    around: [Vec<usize>; 2],
}

/// Token that a text may name.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Special {
    text: String,
    token: usize,
    /// Whether spaces before it, and after it, belong to it.
    strips: [bool; 2],
}

/// Form of the tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// Tokens are bytes, as characters; merges stay within words.
    Bytes {
        split: Split,
        /// Whether the text is first brought to Unicode's form NFC.
        composes: bool,
    },
    /// Tokens are characters; [`SPACE`] stands for a space.
    Characters {
        /// Whether a text begins with an additional space.
        begins_with_space: bool,
        /// Token of characters without tokens; `None` to leave them out.
        unknown: Option<usize>,
    },
}

impl Tokenizer {
    /// Reads a `tokenizer.json` for a model with `vocabulary` tokens.
    ///
    /// # Errors
    ///
    /// [`LlmError::Json`] or [`LlmError::Tokenizer`] if it is invalid, is not of a supported form,
    /// or has tokens beyond the vocabulary.
    pub fn from_json(path: &str, bytes: &[u8], vocabulary: usize) -> Result<Self, LlmError> {
        json_file::read(path, bytes, vocabulary)
    }

    /// Reads the tokenizer of a GGUF file.
    ///
    /// # Errors
    ///
    /// [`LlmError::Tokenizer`], as for [`Self::from_json`].
    pub fn from_gguf(path: &str, file: &Gguf, vocabulary: usize) -> Result<Self, LlmError> {
        let reason = |reason| LlmError::Tokenizer { path: path.to_owned(), reason };
        gguf_file::read(file, vocabulary).map_err(reason)
    }

    /// Converts a text to tokens, with the tokens that the model expects before and after a text.
    /// Special tokens in the text are recognized.
    pub fn encode(&self, text: &str) -> Vec<usize> {
        let [before, after] = &self.around;
        let mut tokens = before.clone();
        let mut rest = text;
        while let Some((place, special)) = self.special(rest) {
            let (own, next) = (&rest[..place], &rest[place + special.text.len()..]);
            let [strips_before, strips_after] = special.strips;
            self.encode_plain(if strips_before { own.trim_end() } else { own }, &mut tokens);
            tokens.push(special.token);
            rest = if strips_after { next.trim_start() } else { next };
        }
        self.encode_plain(rest, &mut tokens);
        tokens.extend(after);
        tokens
    }

    /// Converts tokens to text, special ones included. Bytes that are not UTF-8 become U+FFFD, and
    /// unknown tokens are skipped.
    pub fn decode(&self, tokens: &[usize]) -> String {
        let texts = tokens.iter().filter_map(|&token| self.texts.get(token));
        match self.form {
            Form::Bytes { .. } => {
                let bytes: Vec<u8> = texts.flat_map(|text| bytes::of_characters(text)).collect();
                String::from_utf8_lossy(&bytes).into_owned()
            }
            Form::Characters { begins_with_space, .. } => {
                let text = bytes::with_fallback(texts).replace(SPACE, " ");
                let stripped = text.strip_prefix(' ').filter(|_| begins_with_space);
                stripped.map_or_else(|| text.clone(), str::to_owned)
            }
        }
    }

    /// Returns the first special token in a text with its offset; the longest of several there.
    fn special(&self, text: &str) -> Option<(usize, &Special)> {
        let at = |(place, _): (usize, char)| {
            let found = self.specials.iter().filter(|special| text[place..].starts_with(&special.text));
            found.max_by_key(|special| special.text.len()).map(|special| (place, special))
        };
        text.char_indices().find_map(at)
    }

    /// Adds the tokens of a text without special tokens.
    fn encode_plain(&self, text: &str, tokens: &mut Vec<usize>) {
        if text.is_empty() {
            return;
        }
        match self.form {
            Form::Bytes { split, composes } => {
                let composed: String = if composes { text.nfc().collect() } else { text.to_owned() };
                let words = split.words(&composed);
                words.iter().for_each(|word| self.encode_word(&bytes::as_characters(word), tokens));
            }
            Form::Characters { begins_with_space, unknown } => {
                let begin = if begins_with_space { "\u{2581}" } else { "" };
                let text = format!("{begin}{}", text.replace(' ', "\u{2581}"));
                let mut own = Vec::new();
                for character in text.chars() {
                    own.extend(self.of_character(character, unknown, own.last().copied()));
                }
                tokens.extend(self.merges.apply(&own));
            }
        }
    }

    fn encode_word(&self, word: &str, tokens: &mut Vec<usize>) {
        if let Some(&token) = self.numbers.get(word).filter(|_| self.keeps_words) {
            tokens.push(token);
            return;
        }
        // Bytes without a token vanish, as in other programs.
        let number = |c: char| self.numbers.get(c.encode_utf8(&mut [0; 4])).copied();
        let own: Vec<usize> = word.chars().filter_map(number).collect();
        tokens.extend(self.merges.apply(&own));
    }

    /// Returns the token of a character, or of its bytes. Consecutive unknown characters are one
    /// token.
    fn of_character(&self, character: char, unknown: Option<usize>, last: Option<usize>) -> Vec<usize> {
        let mut buffer = [0; 4];
        let text: &str = character.encode_utf8(&mut buffer);
        if let Some(&token) = self.numbers.get(text) {
            return vec![token];
        }
        let bytes = text.bytes().map(|byte| self.numbers.get(&bytes::token_of(byte)).copied());
        let bytes: Option<Vec<usize>> = bytes.collect();
        bytes.unwrap_or_else(|| unknown.filter(|&token| last != Some(token)).into_iter().collect())
    }
}

/// Parts of a tokenizer, as files have them.
struct Parts {
    /// Texts of tokens and their numbers.
    tokens: Vec<(String, usize)>,
    /// Pairs of texts that are merged, by rank.
    merges: Vec<(String, String)>,
    keeps_words: bool,
    specials: Vec<Special>,
    form: Form,
    around: [Vec<usize>; 2],
}

impl Parts {
    /// Combines the parts for a model with `vocabulary` tokens.
    fn combined(self, vocabulary: usize) -> Result<Tokenizer, String> {
        let Self { tokens, merges, keeps_words, specials, form, around } = self;
        let own = specials.iter().map(|special| (&special.text, special.token));
        let all = tokens.iter().map(|(text, token)| (text, *token)).chain(own);
        let mut texts = Vec::new();
        for (text, token) in all {
            if token >= vocabulary {
                return Err(format!(
                    "token {token}, {text:?}, is beyond the vocabulary of {vocabulary} tokens"
                ));
            }
            if texts.len() <= token {
                texts.resize(token + 1, String::new());
            }
            texts[token].clone_from(text);
        }
        if let Some(token) = around.iter().flatten().find(|&&token| token >= vocabulary) {
            return Err(format!(
                "token {token} around texts is beyond the vocabulary of {vocabulary} tokens"
            ));
        }
        let numbers: HashMap<String, usize> = tokens.into_iter().collect();
        let mut pairs = Merges::default();
        for (rank, (left, right)) in merges.into_iter().enumerate() {
            let number = |text: &str| {
                let missing = || format!("merge {rank}, {left:?} and {right:?}: {text:?} is not a token");
                numbers.get(text).copied().ok_or_else(missing)
            };
            let merged = number(&format!("{left}{right}"))?;
            pairs.add((number(&left)?, number(&right)?), rank, merged);
        }
        Ok(Tokenizer { texts, numbers, merges: pairs, keeps_words, specials, form, around })
    }
}
