//! [`ChatTemplate`]: text of a conversation as a model expects it, from the model's Jinja template.

mod functions;
mod guards;

use std::collections::BTreeMap;

use minijinja::syntax::SyntaxConfig;
use minijinja::{Environment, Error, Value as Variable, context};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::LlmError;
use super::gguf::{self, Array, Gguf};
use super::json::{object, whole};
use crate::sidecar_files::ReadRange;
use guards::Limits;

/// Files of a folder that may have the template.
const TEMPLATE: &str = "chat_template.jinja";
const TOKENIZER: &str = "tokenizer_config.json";
/// Names of special tokens that templates use, and their keys in a GGUF file.
const TOKENS: [(&str, &str); 4] = [
    ("bos_token", "bos_token_id"),
    ("eos_token", "eos_token_id"),
    ("unk_token", "unknown_token_id"),
    ("pad_token", "padding_token_id"),
];
/// Work that a template may do: about one instruction, or 64 bytes of text, per unit.
const FUEL: u64 = 1_000_000;
/// Additional work for each message.
const FUEL_OF_MESSAGE: u64 = 1_000;
/// Largest number of values in a variable, and additional ones for each message.
const VALUES: usize = 10_000;
const VALUES_OF_MESSAGE: usize = 16;
/// Largest size of the texts in a variable, and additional multiple of the messages.
const BYTES: usize = 256 << 10;
const TIMES_OF_BYTES: usize = 4;
/// Number of nested calls of macros.
const DEPTH: usize = 100;

/// Message of a conversation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Message {
    /// Author, such as `system`, `user` or `assistant`.
    pub role: String,
    /// Text.
    pub content: String,
}

impl Message {
    /// Creates a message.
    pub fn new(role: &str, content: impl Into<String>) -> Self {
        Self { role: role.to_owned(), content: content.into() }
    }
}

/// Template that formats the conversations of a model, in the language Jinja.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChatTemplate {
    path: String,
    source: String,
    /// Texts of special tokens by their names.
    tokens: BTreeMap<String, String>,
}

impl ChatTemplate {
    /// Reads the template of a GGUF file.
    ///
    /// # Errors
    ///
    /// [`LlmError::NoTemplate`] if it has none.
    pub fn from_gguf(path: &str, file: &Gguf) -> Result<Self, LlmError> {
        let get = |key: &str| file.metadata.get(&format!("tokenizer.{key}"));
        let source = get("chat_template").and_then(gguf::Value::as_str);
        let source = source.ok_or_else(|| LlmError::NoTemplate { path: path.to_owned() })?;
        let texts = match get("ggml.tokens").and_then(gguf::Value::as_array) {
            Some(Array::Strings(texts)) => &texts[..],
            _ => &[],
        };
        let token = |(name, key): (&str, &str)| {
            let number = get(&format!("ggml.{key}"))?.as_u64()?;
            let text = texts.get(usize::try_from(number).ok()?)?;
            Some((name.to_owned(), text.clone()))
        };
        let tokens = TOKENS.into_iter().filter_map(token).collect();
        Ok(Self { path: path.to_owned(), source: source.to_owned(), tokens })
    }

    /// Reads the template of the folder called `name`: `chat_template.jinja`, or the key
    /// `chat_template` of `tokenizer_config.json`.
    ///
    /// # Errors
    ///
    /// [`LlmError::NoTemplate`] if there is none; [`LlmError::File`], [`LlmError::Json`] or
    /// [`LlmError::Template`] if a file is invalid.
    pub fn from_folder(name: &str, files: &ReadRange<'_>) -> Result<Self, LlmError> {
        let exists = |path: &str| files(path, 0..1).is_ok();
        let config = if exists(TOKENIZER) { object(TOKENIZER, files)? } else { Map::new() };
        let (path, source) = if exists(TEMPLATE) {
            let text = String::from_utf8(whole(TEMPLATE, files)?);
            (TEMPLATE, text.map_err(|error| not_text(error.as_bytes()))?)
        } else {
            let stated = config.get("chat_template").and_then(usual);
            (TOKENIZER, stated.ok_or_else(|| LlmError::NoTemplate { path: name.to_owned() })?)
        };
        let token = |(name, _): (&str, &str)| {
            let value = config.get(name)?;
            Some((name.to_owned(), value.as_str().or_else(|| value.get("content")?.as_str())?.to_owned()))
        };
        let tokens = TOKENS.into_iter().filter_map(token).collect();
        Ok(Self { path: path.to_owned(), source, tokens })
    }

    /// Returns the text of a conversation. If `answers` is true, it ends with the begin of the
    /// model's next message.
    ///
    /// Time and memory are bounded by the number and the size of the messages.
    ///
    /// # Errors
    ///
    /// [`LlmError::Template`] with the line of the template, if it is malformed, refuses the
    /// conversation, or does too much.
    pub fn render(&self, messages: &[Message], answers: bool) -> Result<String, LlmError> {
        let failed = |error: Error| self.failed(&error);
        let mut environment = environment().map_err(failed)?;
        let bytes: usize = messages.iter().map(|message| message.content.len()).sum();
        let count = messages.len() as u64;
        environment.set_fuel(Some(FUEL + count * FUEL_OF_MESSAGE + bytes as u64));
        let limits = Limits {
            values: VALUES + messages.len() * VALUES_OF_MESSAGE,
            bytes: BYTES + bytes * TIMES_OF_BYTES,
        };
        limits.add(&mut environment);
        for (name, text) in &self.tokens {
            environment.add_global(name.as_str(), text.as_str());
        }
        let refused = |(line, reason)| LlmError::Template { path: self.path.clone(), line, reason };
        let source = guards::guarded(&self.source).map_err(refused)?;
        let template = environment.template_from_named_str(&self.path, &source).map_err(failed)?;
        let message = |Message { role, content }: &Message| context! { role => role, content => content };
        let messages: Vec<Variable> = messages.iter().map(message).collect();
        let values = context! {
            messages,
            add_generation_prompt => answers,
            tools => (),
            documents => (),
        };
        template.render(values).map_err(failed)
    }

    fn failed(&self, error: &Error) -> LlmError {
        let reason = match error.detail() {
            Some(detail) => format!("{}: {detail}", error.kind()),
            None => error.kind().to_string(),
        };
        // Default: line 1 for an error without a line.
        LlmError::Template { path: self.path.clone(), line: error.line().unwrap_or(1), reason }
    }
}

/// Returns the environment of a template, like that of transformers.
fn environment() -> Result<Environment<'static>, Error> {
    let mut environment = Environment::new();
    environment.set_syntax(SyntaxConfig::builder().trim_blocks(true).lstrip_blocks(true).build()?);
    environment.set_recursion_limit(DEPTH);
    functions::add(&mut environment);
    Ok(environment)
}

/// Returns the template that `value` states: a text, or the one called `default` of a list.
fn usual(value: &Value) -> Option<String> {
    let named = |list: &Vec<Value>| {
        let mut all = list.iter().filter(|one| one.get("name").and_then(Value::as_str) == Some("default"));
        all.next()?.get("template")?.as_str().map(str::to_owned)
    };
    value.as_str().map(str::to_owned).or_else(|| named(value.as_array()?))
}

fn not_text(bytes: &[u8]) -> LlmError {
    // Default: all bytes, which cannot happen for bytes that are not text.
    let valid = std::str::from_utf8(bytes).err().map_or(bytes.len(), |error| error.valid_up_to());
    let line = 1 + bytes[..valid].iter().filter(|&&byte| byte == b'\n').count();
    LlmError::Template { path: TEMPLATE.to_owned(), line, reason: "it is not UTF-8 text".to_owned() }
}
