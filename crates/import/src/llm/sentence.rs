//! [`Sentence`]: how an encoder makes one vector of a text.
//!
//! Source: the files that the package `sentence-transformers` writes, and `pooling_type` of
//! llama.cpp. A folder without these files has the mean of all tokens, normalized.

use npukit_graph::language::Pooling;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::LlmError;
use super::gguf::{self, Gguf};
use super::json::{object, parsed, whole};
use super::keys::Keys;
use crate::sidecar_files::{ReadRange, inside};

const MODULES: &str = "modules.json";
const LIMITS: &str = "sentence_bert_config.json";
const TOKENS: &str = "tokenizer_config.json";
const PROMPTS: &str = "config_sentence_transformers.json";

/// Computation of one vector from the values of a text's tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sentence {
    /// Combination of the tokens.
    pub pooling: Pooling,
    /// Whether the vector is divided by its length.
    pub normalizes: bool,
    /// Number of tokens that the model is made for, with those around a text; `None` for the
    /// model's context.
    pub limit: Option<usize>,
}

/// Step of a model, in `modules.json`.
#[derive(Deserialize)]
struct Module {
    path: String,
    #[serde(rename = "type")]
    kind: String,
}

/// Poolings of a folder, by their names and, before release 6 of the package, by keys that are
/// true.
const POOLINGS: [(&str, &str, Pooling); 5] = [
    ("mean", "pooling_mode_mean_tokens", Pooling::Mean),
    ("mean_sqrt_len_tokens", "pooling_mode_mean_sqrt_len_tokens", Pooling::MeanSqrt),
    ("max", "pooling_mode_max_tokens", Pooling::Max),
    ("cls", "pooling_mode_cls_token", Pooling::First),
    ("lasttoken", "pooling_mode_lasttoken", Pooling::Last),
];

impl Sentence {
    /// Sentence of a model that states nothing.
    const USUAL: Self = Self { pooling: Pooling::Mean, normalizes: true, limit: None };

    /// Reads the files of a folder.
    pub(super) fn of_folder(files: &ReadRange<'_>) -> Result<Self, LlmError> {
        let limit = limit(files)?;
        if let Some(values) = existing(PROMPTS, files)? {
            let keys = Keys::new(PROMPTS, &values, &str::to_owned);
            if let Some(name) = keys.text(&["default_prompt_name"])? {
                return Err(keys.wrong("default_prompt_name", name, "null: texts are read without a prompt"));
            }
        }
        if files(MODULES, 0..1).is_err() {
            return Ok(Self { limit, ..Self::USUAL });
        }
        let modules: Vec<Module> = parsed(MODULES, &whole(MODULES, files)?)?;
        let mut sentence = Self { normalizes: false, limit, ..Self::USUAL };
        for (index, Module { path, kind }) in modules.iter().enumerate() {
            // Releases of the package have the types in different modules.
            match kind.rsplit('.').next() {
                Some("Transformer") if index == 0 && path.is_empty() => {}
                Some("Pooling") if index == 1 => sentence.pooling = pooling(path, files)?,
                Some("Normalize") if index == 2 => sentence.normalizes = true,
                _ => {
                    return Err(LlmError::Key {
                        path: MODULES.to_owned(),
                        key: format!("module {index}"),
                        found: format!("{kind} at {path:?}"),
                        legal: "Transformer at \"\", Pooling and, optionally, Normalize".to_owned(),
                    });
                }
            }
        }
        Ok(sentence)
    }

    /// Reads the metadata of a GGUF file.
    pub(super) fn of_gguf(path: &str, architecture: &str, file: &Gguf) -> Result<Self, LlmError> {
        let key = format!("{architecture}.pooling_type");
        let value = file.metadata.get(&key);
        let pooling = match value.map(gguf::Value::as_u64) {
            None | Some(Some(0 | 1)) => Pooling::Mean,
            Some(Some(2)) => Pooling::First,
            Some(Some(3)) => Pooling::Last,
            Some(_) => {
                let found = value.map_or_else(String::new, ToString::to_string);
                let legal = "0 (not stated), 1 (mean), 2 (first token) or 3 (last token)".to_owned();
                return Err(LlmError::Key { path: path.to_owned(), key, found, legal });
            }
        };
        Ok(Self { pooling, ..Self::USUAL })
    }
}

/// Reads a file that is a JSON object; `None` if it does not exist.
fn existing(path: &str, files: &ReadRange<'_>) -> Result<Option<Map<String, Value>>, LlmError> {
    if files(path, 0..1).is_ok() { object(path, files).map(Some) } else { Ok(None) }
}

/// Returns the number of tokens that the model is made for.
fn limit(files: &ReadRange<'_>) -> Result<Option<usize>, LlmError> {
    if let Some(values) = existing(LIMITS, files)? {
        let keys = Keys::new(LIMITS, &values, &str::to_owned);
        if keys.truth("do_lower_case")? == Some(true) {
            return Err(keys.wrong("do_lower_case", "true", "false: the tokenizer decides it"));
        }
        if let Some(limit) = keys.size(&["max_seq_length"])? {
            return Ok(Some(limit));
        }
    }
    let Some(values) = existing(TOKENS, files)? else { return Ok(None) };
    // A tokenizer without a limit has an enormous number here.
    let limit = Keys::new(TOKENS, &values, &str::to_owned).number(&["model_max_length"])?;
    Ok(limit.filter(|&limit| limit < 1e9).map(|limit| limit as usize))
}

/// Reads the pooling of the module in the folder `folder`.
fn pooling(folder: &str, files: &ReadRange<'_>) -> Result<Pooling, LlmError> {
    let outside = || LlmError::Outside {
        path: MODULES.to_owned(),
        name: "Pooling".to_owned(),
        location: folder.to_owned(),
    };
    let path = format!("{}/config.json", inside(folder).ok_or_else(outside)?);
    let values = object(&path, files)?;
    let keys = Keys::new(&path, &values, &str::to_owned);
    const KEY: &str = "pooling_mode";
    let is_set = |(_, value): &(&String, &Value)| value.as_bool() == Some(true);
    let set = values.iter().filter(is_set).map(|(key, _)| key.as_str());
    let set: Vec<&str> = set.filter(|key| key.starts_with(KEY)).collect();
    let name = keys.text(&[KEY])?;
    let found = POOLINGS.iter().find(|(own, key, _)| match name {
        Some(name) => name == *own,
        None => set[..] == [*key],
    });
    match found {
        Some(&(.., pooling)) => Ok(pooling),
        None if name.is_none() && set.is_empty() => Ok(Pooling::Mean),
        None => {
            let found = name.map_or_else(|| set.join(" and "), str::to_owned);
            Err(keys.wrong(KEY, found, &format!("one of {}", POOLINGS.map(|(own, ..)| own).join(", "))))
        }
    }
}
