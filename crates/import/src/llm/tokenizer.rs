//! [`Tokenizer`]: conversion between text and tokens, by merging pairs (byte-pair encoding) or by
//! the longest pieces of words.
//!
//! `tokenizer.json` files and the metadata of GGUF files are read, as far as they have one of the
//! supported forms: merges on bytes with the words of GPT-2, SmolLM, Llama 3 or Qwen 2; merges on
//! characters with tokens for single bytes, as SentencePiece has them; and the pieces of BERT.
//!
//! The crate `tokenizers` 0.22.2 without its C and network parts needs 72 crates, 33 of them new
//! here. The first `cargo run --release -- demo` would then build at least 145 crates instead of
//! 112, and 120 are allowed. This module adds two.

mod bpe;
mod bytes;
mod categories;
mod characters;
mod gguf_file;
mod json_file;
mod letters;
mod split;
mod word_piece;

use std::collections::HashMap;

use unicode_normalization::UnicodeNormalization;

use super::LlmError;
use super::gguf::Gguf;
use characters::Characters;
use split::Split;
use word_piece::WordPieces;

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
    /// Tokens are characters, as SentencePiece has them.
    Characters(Characters),
    /// Tokens are pieces of words, as BERT has them.
    Words(WordPieces),
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
        [&before[..], &self.encode_whole(text), &after[..]].concat()
    }

    /// Converts a text to tokens. It already has the tokens before and after it, like a
    /// conversation that a template has formatted.
    pub fn encode_whole(&self, text: &str) -> Vec<usize> {
        let mut tokens = Vec::new();
        let (mut rest, mut is_first) = (text, true);
        while let Some((place, special)) = self.special(rest) {
            let (own, next) = (&rest[..place], &rest[place + special.text.len()..]);
            let [strips_before, strips_after] = special.strips;
            self.encode_plain(if strips_before { own.trim_end() } else { own }, is_first, &mut tokens);
            tokens.push(special.token);
            rest = if strips_after { next.trim_start() } else { next };
            is_first = false;
        }
        self.encode_plain(rest, is_first, &mut tokens);
        tokens
    }

    /// Shortens the tokens of a text to at most `most`: the last ones are left out, except those
    /// that the model expects after a text.
    pub fn shorten(&self, tokens: &mut Vec<usize>, most: usize) {
        let after = self.around[1].len();
        if tokens.len() > most {
            tokens.drain(most.saturating_sub(after)..tokens.len().saturating_sub(after));
        }
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
            Form::Characters(characters) => characters.decoded(texts),
            Form::Words(_) => word_piece::joined(texts),
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

    /// Adds the tokens of a text without special tokens. `is_first` is whether no special token is
    /// before it.
    fn encode_plain(&self, text: &str, is_first: bool, tokens: &mut Vec<usize>) {
        if text.is_empty() {
            return;
        }
        match self.form {
            Form::Bytes { split, composes } => {
                let composed: String = if composes { text.nfc().collect() } else { text.to_owned() };
                let words = split.words(&composed);
                words.iter().for_each(|word| self.encode_word(&bytes::as_characters(word), tokens));
            }
            Form::Characters(characters) => {
                let text = characters.spaced(text, is_first);
                for word in characters.words(&text) {
                    let own = characters.tokens(word, &self.numbers);
                    tokens.extend(self.merge(&own));
                }
            }
            Form::Words(pieces) => pieces.encode(text, &self.numbers, tokens),
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
        tokens.extend(self.merge(&own));
    }

    /// Merges the tokens of a word.
    fn merge(&self, tokens: &[usize]) -> Vec<usize> {
        bpe::merged(tokens, |[left, right]| match &self.merges {
            Merges::Pairs(pairs) => pairs.get(&[left, right]).copied(),
            Merges::Ranks(ranks) => {
                let token = *self.numbers.get(&format!("{}{}", self.texts[left], self.texts[right]))?;
                Some((ranks[token]?, token))
            }
        })
    }
}

/// Pairs of tokens that are merged.
#[derive(Clone, Debug, PartialEq)]
enum Merges {
    /// Rank and merged token of each pair.
    Pairs(HashMap<[usize; 2], (usize, usize)>),
    /// Rank of each merged token: two tokens are merged if their texts together are its text.
    /// `None`
    /// for tokens that are not made by merging.
    Ranks(Vec<Option<usize>>),
}

/// Pairs of texts that are merged, as files have them.
enum TextMerges {
    /// Pairs by rank.
    Pairs(Vec<(String, String)>),
    /// Rank of each token, as for [`Merges::Ranks`].
    Ranks(Vec<Option<usize>>),
}

/// Parts of a tokenizer, as files have them.
struct Parts {
    /// Texts of tokens and their numbers.
    tokens: Vec<(String, usize)>,
    merges: TextMerges,
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
        let merges = match merges {
            TextMerges::Pairs(pairs) => Merges::Pairs(self::pairs(pairs, &numbers)?),
            TextMerges::Ranks(ranks) => Merges::Ranks(ranks),
        };
        Ok(Tokenizer { texts, numbers, merges, keeps_words, specials, form, around })
    }
}

/// Returns the tokens of pairs of texts. A repeated pair has the later rank.
fn pairs(
    merges: Vec<(String, String)>,
    numbers: &HashMap<String, usize>,
) -> Result<HashMap<[usize; 2], (usize, usize)>, String> {
    type Pair = ([usize; 2], (usize, usize));
    let pair = |(rank, (left, right)): (usize, (String, String))| -> Result<Pair, String> {
        let number = |text: &str| {
            let missing = || format!("merge {rank}, {left:?} and {right:?}: {text:?} is not a token");
            numbers.get(text).copied().ok_or_else(missing)
        };
        let merged = number(&format!("{left}{right}"))?;
        Ok(([number(&left)?, number(&right)?], (rank, merged)))
    };
    merges.into_iter().enumerate().map(pair).collect()
}
