//! A `tokenizer.json`: [`read`].
//!
//! Source: the types of the package `tokenizers` that write these files.

use std::collections::HashMap;

use serde::Deserialize;
use serde_json::Value;

use super::characters::{Begin, Characters};
use super::split::Split;
use super::word_piece::{CONTINUES, WordPieces};
use super::{Form, Parts, Special, TextMerges, Tokenizer};
use crate::llm::LlmError;
use crate::llm::json::parsed;
use crate::unique::Unique;

/// Keys that decide which of the others exist.
#[derive(Deserialize)]
struct Outline {
    model: Kind,
}

#[derive(Deserialize)]
struct Kind {
    #[serde(rename = "type")]
    kind: Option<String>,
}

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
    max_input_chars_per_word: Option<usize>,
    #[serde(default)]
    byte_fallback: bool,
    #[serde(default)]
    ignore_merges: bool,
    #[serde(default)]
    vocab: Unique<usize>,
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
    clean_text: bool,
    handle_chinese_chars: bool,
    strip_accents: Option<bool>,
    lowercase: bool,
    replacement: Option<String>,
    prepend_scheme: Option<String>,
    split: Option<bool>,
    sep: Option<(String, usize)>,
    cls: Option<(String, usize)>,
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
    let reason = |reason| LlmError::Tokenizer { path: path.to_owned(), reason };
    let Outline { model: Kind { kind } } = parsed(path, bytes)?;
    if let Some(kind) = kind.filter(|kind| !["BPE", WORD_PIECE].contains(&&**kind)) {
        return Err(reason(format!("its model is {kind}; supported are BPE and {WORD_PIECE}")));
    }
    parts(parsed(path, bytes)?).and_then(|parts| parts.combined(vocabulary)).map_err(reason)
}

const WORD_PIECE: &str = "WordPiece";

fn parts(file: File) -> Result<Parts, String> {
    let File { added_tokens, normalizer, pre_tokenizer, post_processor, mut model } = file;
    if let Some(added) = added_tokens.iter().find(|added| added.single_word || added.content.is_empty()) {
        return Err(format!("added token {:?} is empty or only recognized as a word", added.content));
    }
    let specials = added_tokens.into_iter().map(|Added { id, content, lstrip, rstrip, .. }| Special {
        text: content,
        token: id,
        strips: [lstrip, rstrip],
    });
    let specials: Vec<Special> = specials.collect();
    let tokens: Vec<(String, usize)> = std::mem::take(&mut model.vocab).0.into_iter().collect();
    let unknown = model.unk_token.take().map(|text| {
        let found = tokens.iter().find(|(own, _)| *own == text).map(|&(_, token)| token);
        found.ok_or_else(|| format!("its unknown token {text:?} does not exist"))
    });
    let unknown = unknown.transpose()?;
    let form = if model.kind.as_deref() == Some(WORD_PIECE) {
        Form::Words(word_pieces(normalizer, pre_tokenizer, &model, unknown)?)
    } else {
        let is_set = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.is_empty());
        if is_set(&model.continuing_subword_prefix) || is_set(&model.end_of_word_suffix) {
            return Err("its model marks the begin or end of words, which is not supported".to_owned());
        }
        form(normalizer, pre_tokenizer, model.byte_fallback, unknown)?
    };
    let pair = |merge: Merge| match merge {
        Merge::Pair(left, right) => Ok((left, right)),
        Merge::Line(line) => line
            .split_once(' ')
            .map(|(left, right)| (left.to_owned(), right.to_owned()))
            .ok_or_else(|| format!("merge {line:?} is not two texts")),
    };
    let merges = model.merges.into_iter().map(pair).collect::<Result<_, _>>()?;
    let around = around(post_processor)?;
    let merges = TextMerges::Pairs(merges);
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
    let begin = if prepends { Begin::Always } else { Begin::Never };
    let characters = |begin, divides| Ok(Form::Characters(Characters { begin, divides, unknown }));
    match (&before[..], replaces) {
        ([], true) if byte_fallback && !composes => characters(begin, false),
        ([step], true) if byte_fallback && !composes && step.is_split_at_spaces() => characters(begin, false),
        ([step], false) if step.kind == "Metaspace" && byte_fallback && !composes => {
            let (begin, divides) = metaspace(step)?;
            characters(begin, divides)
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

impl Step {
    /// Whether the step divides a text after spaces, which a text without spaces does not have.
    fn is_split_at_spaces(&self) -> bool {
        self.kind == "Split" && matches!(&self.pattern, Some(Pattern::String(text)) if text == " ")
    }
}

/// Returns the properties of the step that replaces spaces.
fn metaspace(step: &Step) -> Result<(Begin, bool), String> {
    if step.replacement.as_deref() != Some("\u{2581}") {
        return Err("it replaces spaces by another character than U+2581".to_owned());
    }
    let begin = match step.prepend_scheme.as_deref() {
        None | Some("always") => Begin::WithoutSpace,
        Some("never") => Begin::Never,
        Some("first") => Begin::First,
        Some(other) => return Err(format!("it adds spaces as {other:?}; legal are always, never and first")),
    };
    // Default: texts are divided, unless a file states otherwise.
    Ok((begin, step.split.unwrap_or(true)))
}

/// Returns the properties of a tokenizer of BERT.
fn word_pieces(
    normalizer: Option<Step>,
    pre_tokenizer: Option<Step>,
    model: &Model,
    unknown: Option<usize>,
) -> Result<WordPieces, String> {
    let kind = |step: &Option<Step>| step.as_ref().map_or("absent".to_owned(), |step| step.kind.clone());
    let (before, splits) = (kind(&normalizer), kind(&pre_tokenizer));
    let step = normalizer.filter(|step| step.kind == "BertNormalizer" && splits == "BertPreTokenizer");
    let other =
        || format!("its steps are {before} and {splits}; supported are BertNormalizer and BertPreTokenizer");
    let step = step.ok_or_else(other)?;
    let prefix = model.continuing_subword_prefix.as_deref();
    if prefix.is_some_and(|prefix| prefix != CONTINUES) {
        return Err(format!("its tokens continue words with {prefix:?}; supported is {CONTINUES}"));
    }
    Ok(WordPieces {
        cleans: step.clean_text,
        divides_chinese: step.handle_chinese_chars,
        strips_marks: step.strip_accents.unwrap_or(step.lowercase),
        lowers: step.lowercase,
        unknown: unknown.ok_or("it has no token for unknown words")?,
        longest: model.max_input_chars_per_word.unwrap_or(100),
    })
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
            "BertProcessing" => {
                let token = |pair: &Option<(String, usize)>| pair.iter().map(|(_, token)| *token).collect();
                around = [token(&step.cls), token(&step.sep)];
            }
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
