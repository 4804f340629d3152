//! Bodies of requests: [`Body`], with the parameters that are known.

use npukit::verbs::generate::{Continuation, Message, Sampling};
use serde::Deserialize;
use serde_json::Value;

use super::choices::{Failed, Form};
use super::queue::Prompt;

/// Largest number of texts that end an answer.
const MAX_STOPS: usize = 16;

/// Parameters of a completion. Unknown ones are ignored, as by OpenAI.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Body {
    pub(super) model: Option<String>,
    prompt: Option<GivenPrompt>,
    messages: Option<Vec<GivenMessage>>,
    max_tokens: Option<usize>,
    max_completion_tokens: Option<usize>,
    temperature: Option<f64>,
    top_k: Option<usize>,
    top_p: Option<f64>,
    min_p: Option<f64>,
    repetition_penalty: Option<f64>,
    seed: Option<i64>,
    stop: Option<OneOrMany>,
    pub(super) stream: Option<bool>,
    stream_options: Option<StreamOptions>,
    // These must have their default values.
    n: Option<Value>,
    best_of: Option<Value>,
    echo: Option<Value>,
    suffix: Option<Value>,
    logprobs: Option<Value>,
    logit_bias: Option<Value>,
    presence_penalty: Option<Value>,
    frequency_penalty: Option<Value>,
    tools: Option<Value>,
    response_format: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum GivenPrompt {
    Text(String),
    Ids(Vec<usize>),
    Texts(Vec<String>),
}

#[derive(Debug, Deserialize)]
struct GivenMessage {
    role: String,
    content: Option<Content>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Content {
    Text(String),
    Parts(Vec<ContentPart>),
}

#[derive(Debug, Deserialize)]
struct ContentPart {
    text: String,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum OneOrMany {
    One(String),
    Many(Vec<String>),
}

#[derive(Debug, Default, Deserialize)]
struct StreamOptions {
    include_usage: Option<bool>,
}

impl Body {
    /// Reads the JSON of a body, and refuses parameters that are not supported.
    pub(super) fn read(bytes: &[u8]) -> Result<Self, Failed> {
        let body: Self = serde_json::from_slice(bytes)
            .map_err(|error| Failed::new(400, format!("the body is not a valid request: {error}")))?;
        let is_empty = |value: &Value| {
            value.as_array().is_some_and(Vec::is_empty)
                || value.as_object().is_some_and(serde_json::Map::is_empty)
        };
        let parameters = [
            ("n", &body.n, "1"),
            ("best_of", &body.best_of, "1"),
            ("echo", &body.echo, "false"),
            ("suffix", &body.suffix, "null"),
            ("logprobs", &body.logprobs, "false"),
            ("logit_bias", &body.logit_bias, "{}"),
            ("presence_penalty", &body.presence_penalty, "0"),
            ("frequency_penalty", &body.frequency_penalty, "0"),
            ("tools", &body.tools, "[]"),
            ("response_format", &body.response_format, r#"{"type":"text"}"#),
        ];
        for (name, value, legal) in parameters {
            let Some(value) = value.as_ref().filter(|value| !value.is_null() && !is_empty(value)) else {
                continue;
            };
            let is_zero = legal == "0" && value.as_f64() == Some(0.0);
            let found = value.to_string();
            if found != legal && !is_zero {
                return Err(Failed::parameter(name, format!("`{name}` is not supported; legal is {legal}")));
            }
        }
        Ok(body)
    }

    /// Returns the prompt for a form of answers.
    pub(super) fn prompt(&mut self, form: Form) -> Result<Prompt, Failed> {
        if form == Form::Chat {
            let missing = || Failed::parameter("messages", "`messages` are missing");
            let messages = self.messages.take().filter(|messages| !messages.is_empty());
            return Ok(Prompt::Chat(messages.ok_or_else(missing)?.into_iter().map(message).collect()));
        }
        match self.prompt.take() {
            Some(GivenPrompt::Text(text)) => Ok(Prompt::Text(text)),
            Some(GivenPrompt::Ids(ids)) => Ok(Prompt::Ids(ids)),
            Some(GivenPrompt::Texts(mut texts)) if texts.len() == 1 => Ok(Prompt::Text(texts.swap_remove(0))),
            Some(GivenPrompt::Texts(_)) => Err(Failed::parameter(
                "prompt",
                "several prompts in a request are not supported; send one each",
            )),
            None => Err(Failed::parameter("prompt", "`prompt` is missing")),
        }
    }

    /// Returns the properties of the continuation.
    pub(super) fn continuation(&mut self) -> Result<Continuation, Failed> {
        // Default: no text ends an answer.
        let stop = match self.stop.take() {
            None => Vec::new(),
            Some(OneOrMany::One(text)) => vec![text],
            Some(OneOrMany::Many(texts)) => texts,
        };
        if stop.len() > MAX_STOPS || stop.iter().any(String::is_empty) {
            let legal = format!("`stop` has at most {MAX_STOPS} texts, none of them empty");
            return Err(Failed::parameter("stop", legal));
        }
        let sampling = Sampling {
            // A temperature of 0 means the most likely token.
            temperature: self.temperature.filter(|&temperature| temperature != 0.0),
            top_k: self.top_k,
            top_p: self.top_p,
            min_p: self.min_p,
            repetition_penalty: self.repetition_penalty,
            // Default: a fixed seed, as for `npu generate`.
            seed: self.seed.unwrap_or(0).cast_unsigned(),
        };
        sampling.check().map_err(|error| Failed::new(400, error.to_string()))?;
        Ok(Continuation { tokens: self.max_completion_tokens.or(self.max_tokens), sampling, stop })
    }

    /// Whether a stream ends with the number of tokens.
    pub(super) fn has_usage(&self) -> bool {
        self.stream_options.as_ref().is_some_and(|options| options.include_usage == Some(true))
    }
}

fn message(GivenMessage { role, content }: GivenMessage) -> Message {
    let text = match content {
        None => String::new(),
        Some(Content::Text(text)) => text,
        Some(Content::Parts(parts)) => parts.into_iter().map(|part| part.text).collect(),
    };
    Message::new(&role, text)
}
