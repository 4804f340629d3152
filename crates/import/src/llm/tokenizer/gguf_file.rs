//! The tokenizer in the metadata of a GGUF file: [`read`].

use super::characters::{Begin, Characters, SPACE};
use super::split::Split;
use super::word_piece::{CONTINUES, WordPieces};
use super::{Form, Parts, Special, TextMerges, Tokenizer};
use crate::llm::gguf::{Array, Gguf, Number, Value};

/// Types of tokens: unknown characters, tokens that a text may name, and single bytes.
const UNKNOWN: u64 = 2;
const CONTROL: u64 = 3;
const USER_DEFINED: u64 = 4;
const BYTE: u64 = 6;

/// Longest word of BERT that may be known, in characters; files do not state it.
const LONGEST: usize = 100;

/// Reads the tokenizer for a model with `vocabulary` tokens.
pub(super) fn read(file: &Gguf, vocabulary: usize) -> Result<Tokenizer, String> {
    let keys = Keys { file };
    let parts = match keys.text("model")? {
        "gpt2" => byte_pairs(&keys),
        "llama" => characters(&keys),
        "bert" => words(&keys),
        other => Err(format!("its model is {other:?}; supported in GGUF files are gpt2, llama and bert")),
    };
    parts?.combined(vocabulary)
}

/// Merges on bytes.
fn byte_pairs(keys: &Keys<'_>) -> Result<Parts, String> {
    let name = keys.text("pre")?;
    let split = Split::of_gguf(name).ok_or_else(|| {
        format!("it divides texts as {name:?}; supported are gpt-2, smollm, llama-bpe and qwen2")
    })?;
    let merge = |line: &String| match line.char_indices().skip(1).find(|&(_, c)| c == ' ') {
        Some((place, _)) => Ok((line[..place].to_owned(), line[place + 1..].to_owned())),
        None => Err(format!("merge {line:?} is not two texts")),
    };
    let merges = keys.texts("merges")?.iter().map(merge).collect::<Result<_, _>>()?;
    // Programs put the first token before texts of Llama 3 only.
    let before = keys.around("add_bos_token", split == Split::Llama3, &["bos_token_id"])?;
    let after = keys.around("add_eos_token", false, &["eos_token_id"])?;
    Ok(Parts {
        specials: keys.specials()?,
        tokens: keys.tokens()?,
        merges: TextMerges::Pairs(merges),
        keeps_words: split == Split::Llama3,
        form: Form::Bytes { split, composes: false },
        around: [before, after],
    })
}

/// Merges on characters: the pair whose token has the highest score first.
fn characters(keys: &Keys<'_>) -> Result<Parts, String> {
    let tokens = keys.tokens()?;
    let scores = keys.get("scores").and_then(Value::as_array);
    let scores: Option<Vec<f64>> = scores.and_then(|scores| scores.numbers().map(Number::as_f64).collect());
    let scores =
        scores.filter(|scores| scores.len() == tokens.len()).ok_or("it has no score for each token")?;
    let mut ordered: Vec<f64> = scores.clone();
    ordered.sort_by(|a, b| b.total_cmp(a));
    let kinds = keys.kinds();
    let rank = |(token, score): (usize, &f64)| {
        // Default: tokens without a type are usual ones.
        let is_made = !matches!(kinds.get(token).copied().flatten(), Some(UNKNOWN | CONTROL | BYTE));
        is_made.then(|| ordered.partition_point(|other| other.total_cmp(score).is_gt()))
    };
    let ranks = scores.iter().enumerate().map(rank).collect();
    // Default: programs begin a text with a space, and know that token 0 is the unknown one.
    let begins = keys.truth("add_space_prefix").unwrap_or(true);
    let unknown = Some(keys.number(&["unknown_token_id"]).unwrap_or(0));
    let begin = if begins { Begin::Always } else { Begin::Never };
    Ok(Parts {
        specials: keys.specials()?,
        tokens,
        merges: TextMerges::Ranks(ranks),
        keeps_words: false,
        form: Form::Characters(Characters { begin, divides: false, unknown }),
        around: [
            keys.around("add_bos_token", true, &["bos_token_id"])?,
            keys.around("add_eos_token", false, &["eos_token_id"])?,
        ],
    })
}

/// Pieces of words. The converter to GGUF has marked the begins of words instead of the rest, and
/// only knows models without accents and upper case.
fn words(keys: &Keys<'_>) -> Result<Parts, String> {
    let marked = |((text, token), kind): ((String, usize), Option<u64>)| match text.strip_prefix(SPACE) {
        _ if matches!(kind, Some(UNKNOWN | CONTROL)) => (text, token),
        Some(begin) => (begin.to_owned(), token),
        None => (format!("{CONTINUES}{text}"), token),
    };
    let kinds = keys.kinds().into_iter().chain(std::iter::repeat(None));
    let tokens = keys.tokens()?.into_iter().zip(kinds).map(marked).collect();
    let form = WordPieces {
        cleans: true,
        divides_chinese: true,
        strips_marks: true,
        lowers: true,
        unknown: keys.number(&["unknown_token_id"]).ok_or("it has no `unknown_token_id`")?,
        longest: LONGEST,
    };
    Ok(Parts {
        specials: keys.specials()?,
        tokens,
        merges: TextMerges::Pairs(Vec::new()),
        keeps_words: false,
        form: Form::Words(form),
        around: [
            keys.around("add_bos_token", true, &["cls_token_id", "bos_token_id"])?,
            // The key is misspelled in the format.
            keys.around("add_eos_token", true, &["seperator_token_id", "eos_token_id"])?,
        ],
    })
}

/// Keys of the tokenizer.
struct Keys<'a> {
    file: &'a Gguf,
}

impl<'a> Keys<'a> {
    fn get(&self, key: &str) -> Option<&'a Value> {
        self.file.metadata.get(&format!("tokenizer.ggml.{key}"))
    }

    fn text(&self, key: &str) -> Result<&'a str, String> {
        self.get(key).and_then(Value::as_str).ok_or_else(|| format!("it has no text `{key}`"))
    }

    fn texts(&self, key: &str) -> Result<&'a [String], String> {
        match self.get(key).and_then(Value::as_array) {
            Some(Array::Strings(texts)) => Ok(texts),
            _ => Err(format!("it has no list of texts `{key}`")),
        }
    }

    fn truth(&self, key: &str) -> Option<bool> {
        self.get(key).and_then(Value::as_bool)
    }

    /// Returns the token number under one of the keys.
    fn number(&self, keys: &[&str]) -> Option<usize> {
        let number = |key: &&str| usize::try_from(self.get(key)?.as_u64()?).ok();
        keys.iter().find_map(number)
    }

    /// Returns the token under one of `tokens`, if the key `adds` is true; `usual` if it is absent.
    fn around(&self, adds: &str, usual: bool, tokens: &[&str]) -> Result<Vec<usize>, String> {
        if !self.truth(adds).unwrap_or(usual) {
            return Ok(Vec::new());
        }
        let missing = || format!("it has no `{}`", tokens.join("` or `"));
        Ok(vec![self.number(tokens).ok_or_else(missing)?])
    }

    /// Returns the texts of all tokens with their numbers.
    fn tokens(&self) -> Result<Vec<(String, usize)>, String> {
        Ok(self.texts("tokens")?.iter().cloned().zip(0..).collect())
    }

    /// Returns the types of the tokens, as far as they are stated.
    fn kinds(&self) -> Vec<Option<u64>> {
        let kinds = self.get("token_type").and_then(Value::as_array);
        kinds.map_or_else(Vec::new, |kinds| kinds.numbers().map(Number::as_u64).collect())
    }

    /// Returns the tokens that a text may name.
    fn specials(&self) -> Result<Vec<Special>, String> {
        let (tokens, kinds) = (self.tokens()?, self.kinds());
        let named = tokens
            .into_iter()
            .zip(kinds)
            .filter(|((text, _), kind)| !text.is_empty() && matches!(kind, Some(CONTROL | USER_DEFINED)));
        Ok(named.map(|((text, token), _)| Special { text, token, strips: [false; 2] }).collect())
    }
}
