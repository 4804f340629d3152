//! The tokenizer in the metadata of a GGUF file: [`read`].

use super::split::Split;
use super::{Form, Parts, Special, Tokenizer};
use crate::llm::gguf::{Array, Gguf, Number, Value};

/// Types of tokens that a text may name.
const CONTROL: u64 = 3;
const USER_DEFINED: u64 = 4;

/// Reads the tokenizer for a model with `vocabulary` tokens.
pub(super) fn read(file: &Gguf, vocabulary: usize) -> Result<Tokenizer, String> {
    let get = |key: &str| file.metadata.get(&format!("tokenizer.ggml.{key}"));
    let text = |key: &str| get(key).and_then(Value::as_str).ok_or_else(|| format!("it has no text `{key}`"));
    let texts = |key: &str| match get(key).and_then(Value::as_array) {
        Some(Array::Strings(texts)) => Ok(texts),
        _ => Err(format!("it has no list of texts `{key}`")),
    };
    let model = text("model")?;
    if model != "gpt2" {
        return Err(format!("its model is {model:?}; supported in GGUF files is \"gpt2\""));
    }
    let name = text("pre")?;
    let split = Split::of_gguf(name).ok_or_else(|| {
        format!("it divides texts as {name:?}; supported are gpt-2, smollm, llama-bpe and qwen2")
    })?;
    let tokens: Vec<(String, usize)> = texts("tokens")?.iter().cloned().zip(0..).collect();
    let types = get("token_type").and_then(Value::as_array);
    let types: Vec<Option<u64>> =
        types.map_or_else(Vec::new, |types| types.numbers().map(Number::as_u64).collect());
    let named = tokens.iter().zip(&types).filter(|(_, kind)| matches!(kind, Some(CONTROL | USER_DEFINED)));
    let special =
        |(text, token): &(String, usize)| Special { text: text.clone(), token: *token, strips: [false; 2] };
    let specials =
        named.map(|(token, _)| special(token)).filter(|special| !special.text.is_empty()).collect();
    let merge = |line: &String| match line.char_indices().skip(1).find(|&(_, c)| c == ' ') {
        Some((place, _)) => Ok((line[..place].to_owned(), line[place + 1..].to_owned())),
        None => Err(format!("merge {line:?} is not two texts")),
    };
    let merges = texts("merges")?.iter().map(merge).collect::<Result<_, _>>()?;
    // Default: programs put the first token before texts of Llama 3 only.
    let adds = |key: &str, usual: bool| get(key).and_then(Value::as_bool).unwrap_or(usual);
    let around = |adds: bool, key: &str| -> Result<Vec<usize>, String> {
        let token = get(key).and_then(Value::as_u64).and_then(|token| usize::try_from(token).ok());
        if adds { Ok(vec![token.ok_or_else(|| format!("it has no `{key}`"))?]) } else { Ok(Vec::new()) }
    };
    let before = around(adds("add_bos_token", split == Split::Llama3), "bos_token_id")?;
    let after = around(adds("add_eos_token", false), "eos_token_id")?;
    let form = Form::Bytes { split, composes: false };
    let keeps_words = split == Split::Llama3;
    Parts { tokens, merges, keeps_words, specials, form, around: [before, after] }.combined(vocabulary)
}
