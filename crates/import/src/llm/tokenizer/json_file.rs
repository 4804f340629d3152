//! A `tokenizer.json`: [`read`].
//!
//! Source: the types of the package `tokenizers` that write these files.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;

use super::split::Split;
use super::{Form, Parts, Special, Tokenizer};
use crate::llm::LlmError;

/// Keys of the file.
#[derive(Deserialize)]
struct File {
    #[serde(default)]
    added_tokens: Vec<Added>,
    normalizer: Option<Step>,
    pre_tokenizer: Option<Step>,
    post_processor: Option<Step>,
    model: Model,
}

#[derive(Deserialize)]
struct Added {
    id: usize,
    content: String,
    #[serde(default)]
    single_word: bool,
    #[serde(default)]
    lstrip: bool,
    #[serde(default)]
    rstrip: bool,
}

#[derive(Deserialize)]
struct Model {
    #[serde(rename = "type")]
    kind: Option<String>,
    unk_token: Option<String>,
    continuing_subword_prefix: Option<String>,
    end_of_word_suffix: Option<String>,
    #[serde(default)]
    byte_fallback: bool,
    #[serde(default)]
    ignore_merges: bool,
    #[serde(default)]
    vocab: HashMap<String, Value>,
    #[serde(default)]
    merges: Vec<Merge>,
}

/// Pair of texts: a list or, in older files, a text with a space between them.
#[derive(Deserialize)]
#[serde(untagged)]
enum Merge {
    Pair(String, String),
    Line(String),
}

/// Step of a pipeline, with the keys of all steps that are read.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Step {
    #[serde(rename = "type")]
    kind: String,
    normalizers: Vec<Step>,
    pretokenizers: Vec<Step>,
    processors: Vec<Step>,
    pattern: Option<Pattern>,
    content: Option<String>,
    prepend: Option<String>,
    behavior: Option<String>,
    invert: bool,
    individual_digits: bool,
    add_prefix_space: bool,
    use_regex: Option<bool>,
    single: Vec<HashMap<String, Value>>,
    special_tokens: HashMap<String, SpecialIds>,
}

#[derive(Deserialize)]
enum Pattern {
    String(String),
    Regex(String),
}

#[derive(Deserialize)]
struct SpecialIds {
    ids: Vec<usize>,
}

/// Reads the file at `path` for a model with `vocabulary` tokens.
pub(super) fn read(path: &str, bytes: &[u8], vocabulary: usize) -> Result<Tokenizer, LlmError> {
    let file: File = serde_json::from_slice(bytes).map_err(|error| LlmError::Json {
        path: path.to_owned(),
        line: error.line(),
        column: error.column(),
        message: error.to_string(),
    })?;
    let reason = |reason| LlmError::Tokenizer { path: path.to_owned(), reason };
    parts(file).and_then(|parts| parts.combined(vocabulary)).map_err(reason)
}

fn parts(file: File) -> Result<Parts, String> {
    let File { added_tokens, normalizer, pre_tokenizer, post_processor, model } = file;
    if !matches!(model.kind.as_deref(), None | Some("BPE")) {
        return Err(format!("its model is {}; supported is BPE", model.kind.unwrap_or_default()));
    }
    let is_set = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
    if is_set(&model.continuing_subword_prefix) || is_set(&model.end_of_word_suffix) {
        return Err("its model marks the begin or end of words, which is not supported".to_owned());
    }
    if let Some(added) = added_tokens.iter().find(|added| added.single_word || added.content.is_empty()) {
        return Err(format!("added token {:?} is empty or only recognized as a word", added.content));
    }
    let specials = added_tokens.into_iter().map(|Added { id, content, lstrip, rstrip, .. }| Special {
        text: content,
        token: id,
        strips: [lstrip, rstrip],
    });
    let specials: Vec<Special> = specials.collect();
    let token = |(text, value): (String, Value)| {
        let number = value.as_u64().and_then(|number| usize::try_from(number).ok());
        number
            .map(|number| (text.clone(), number))
            .ok_or_else(|| format!("token {text:?} has number {value}"))
    };
    let tokens: Vec<(String, usize)> = model.vocab.into_iter().map(token).collect::<Result<_, _>>()?;
    let unknown = model.unk_token.map(|text| {
        let found = tokens.iter().find(|(own, _)| *own == text).map(|&(_, token)| token);
        found.ok_or_else(|| format!("its unknown token {text:?} does not exist"))
    });
    let form = form(normalizer, pre_tokenizer, model.byte_fallback, unknown.transpose()?)?;
    let pair = |merge: Merge| match merge {
        Merge::Pair(left, right) => Ok((left, right)),
        Merge::Line(line) => line
            .split_once(' ')
            .map(|(left, right)| (left.to_owned(), right.to_owned()))
            .ok_or_else(|| format!("merge {line:?} is not two texts")),
    };
    let merges = model.merges.into_iter().map(pair).collect::<Result<_, _>>()?;
    let around = around(post_processor)?;
    Ok(Parts { tokens, merges, keeps_words: model.ignore_merges, specials, form, around })
}

/// Returns the steps of a sequence, or the step itself.
fn steps(step: Option<Step>) -> Vec<Step> {
    match step {
        None => Vec::new(),
        Some(Step { kind, normalizers, pretokenizers, processors, .. }) if kind == "Sequence" => {
            [normalizers, pretokenizers, processors].into_iter().flatten().collect()
        }
        Some(step) => vec![step],
    }
}

fn form(
    normalizer: Option<Step>,
    pre_tokenizer: Option<Step>,
    byte_fallback: bool,
    unknown: Option<usize>,
) -> Result<Form, String> {
    let (mut composes, mut replaces, mut prepends) = (false, false, false);
    for step in steps(normalizer) {
        let pattern = step.pattern.as_ref();
        match (step.kind.as_str(), pattern, step.content.as_deref(), step.prepend.as_deref()) {
            ("NFC", ..) => composes = true,
            ("Replace", Some(Pattern::String(from)), Some("\u{2581}"), _) if from == " " => replaces = true,
            ("Prepend", .., Some("\u{2581}")) if !replaces => prepends = true,
            (other, ..) => return Err(format!("its normalizer {other} is not supported in this form")),
        }
    }
    let before: Vec<Step> = steps(pre_tokenizer);
    match (&before[..], replaces) {
        ([], true) if byte_fallback && !composes => {
            Ok(Form::Characters { begins_with_space: prepends, unknown })
        }
        ([first @ .., level], false)
            if level.kind == "ByteLevel" && !level.add_prefix_space && !byte_fallback =>
        {
            let words = level.use_regex.unwrap_or(true);
            Ok(Form::Bytes { split: split(first, words)?, composes })
        }
        (steps, _) => {
            let names: Vec<&str> = steps.iter().map(|step| step.kind.as_str()).collect();
            Err(format!("its combination of steps before merging is not supported: [{}]", names.join(", ")))
        }
    }
}

/// Returns the division by the steps before the conversion to bytes, which itself divides into
/// words if `words` is true.
fn split(steps: &[Step], words: bool) -> Result<Split, String> {
    match (steps, words) {
        ([], true) => Ok(Split::Gpt2),
        ([step], true) if step.kind == "Digits" && step.individual_digits => Ok(Split::Digits),
        ([step], false) if step.kind == "Split" && !step.invert => match &step.pattern {
            Some(Pattern::Regex(expression)) if step.behavior.as_deref() == Some("Isolated") => {
                let unknown =
                    || format!("it divides texts by an expression that is not supported: {expression}");
                Split::of_expression(expression).ok_or_else(unknown)
            }
            _ => Err("it divides texts by a pattern that is not supported".to_owned()),
        },
        _ => Err("it divides texts in steps that are not supported".to_owned()),
    }
}

/// Returns the tokens before and after a text.
fn around(post_processor: Option<Step>) -> Result<[Vec<usize>; 2], String> {
    let mut around = [Vec::new(), Vec::new()];
    for step in steps(post_processor) {
        match step.kind.as_str() {
            // It only concerns places of tokens in the text.
            "ByteLevel" => {}
            "TemplateProcessing" => around = template(&step)?,
            other => return Err(format!("its post-processor {other} is not supported")),
        }
    }
    Ok(around)
}

fn template(step: &Step) -> Result<[Vec<usize>; 2], String> {
    let (mut around, mut is_after) = ([Vec::new(), Vec::new()], false);
    for piece in &step.single {
        if piece.contains_key("Sequence") {
            is_after = true;
            continue;
        }
        let name = piece.get("SpecialToken").and_then(|piece| piece.get("id")).and_then(Value::as_str);
        let ids = name.and_then(|name| step.special_tokens.get(name));
        let ids = ids.ok_or("its template names a token that does not exist")?;
        around[usize::from(is_after)].extend(&ids.ids);
    }
    if is_after { Ok(around) } else { Err("its template has no place for the text".to_owned()) }
}
