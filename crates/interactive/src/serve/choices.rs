//! Answers in the form of OpenAI's interface: [`Progress`] of a text, and [`Failed`] requests.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::Receiver;

use npukit::verbs::generate::End;
use serde_json::{Value, json};

use super::queue::Event;

/// A request that failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Failed {
    pub(super) status: u16,
    pub(super) message: String,
    /// Name of the parameter that caused it.
    pub(super) parameter: Option<&'static str>,
}

impl Failed {
    pub(super) fn new(status: u16, message: impl Into<String>) -> Self {
        Self { status, message: message.into(), parameter: None }
    }

    /// Creates the error of a parameter.
    pub(super) fn parameter(name: &'static str, message: impl Into<String>) -> Self {
        Self { status: 400, message: message.into(), parameter: Some(name) }
    }

    pub(super) fn json(&self) -> Value {
        let kind = if self.status < 500 { "invalid_request_error" } else { "server_error" };
        json!({ "error": { "message": self.message, "type": kind, "param": self.parameter, "code": null } })
    }
}

/// Form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    Completion,
    Chat,
}

/// Parts of an answer that do not depend on the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Heading {
    pub(super) form: Form,
    /// Number of the answer.
    pub(super) number: u64,
    /// Seconds since the begin of 1970.
    pub(super) created: u64,
    pub(super) model: String,
}

/// A text that is being continued for a client.
pub(super) struct Progress {
    pub(super) heading: Heading,
    pub(super) events: Receiver<Event>,
    pub(super) is_cancelled: Arc<AtomicBool>,
    /// Origin of the web page that may read the answer.
    pub(super) origin: Option<String>,
    /// Whether each part is sent when it is known.
    pub(super) is_stream: bool,
    /// Whether a stream ends with the number of tokens.
    pub(super) has_usage: bool,
    /// Whether a part was sent.
    pub(super) has_sent: bool,
    pub(super) received: Received,
}

/// Sum of the events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Received {
    answer: String,
    prompt_tokens: usize,
    reused: usize,
    tokens: usize,
    end: Option<End>,
}

impl Progress {
    /// Adds an event. Returns the parts of a stream to send.
    pub(super) fn add(&mut self, event: Event) -> Result<Vec<Value>, Failed> {
        let is_chat = self.heading.form == Form::Chat;
        let parts = match event {
            Event::Failed { is_of_request, message } => {
                return Err(Failed::new(if is_of_request { 400 } else { 500 }, message));
            }
            Event::Begun { prompt_tokens, reused } => {
                (self.received.prompt_tokens, self.received.reused) = (prompt_tokens, reused);
                let role = json!({ "role": "assistant", "content": "" });
                is_chat.then(|| self.part(role, None)).into_iter().collect()
            }
            Event::Text(text) if text.is_empty() => Vec::new(),
            Event::Text(text) => {
                self.received.answer += &text;
                let text = if is_chat { json!({ "content": text }) } else { json!(text) };
                vec![self.part(text, None)]
            }
            Event::Ended { end, tokens } => {
                self.received.tokens = tokens;
                let nothing = if is_chat { json!({}) } else { json!("") };
                let last = self.part(nothing, Some(reason(&end)));
                self.received.end = Some(end);
                let usage = self.has_usage.then(|| self.object(&[], Some(self.usage()), true));
                [last].into_iter().chain(usage).collect()
            }
        };
        Ok(if self.is_stream { parts } else { Vec::new() })
    }

    /// Returns the whole answer after the last event.
    pub(super) fn whole(&self) -> Result<Value, Failed> {
        let Received { answer, end, .. } = &self.received;
        let end = end.as_ref().ok_or_else(|| Failed::new(500, "the model has failed"))?;
        let mut choice = json!({ "index": 0, "logprobs": null, "finish_reason": reason(end) });
        match self.heading.form {
            Form::Completion => choice["text"] = json!(answer),
            Form::Chat => choice["message"] = json!({ "role": "assistant", "content": answer }),
        }
        Ok(self.object(&[choice], Some(self.usage()), false))
    }

    /// Returns a part of a stream.
    fn part(&self, text: Value, finish_reason: Option<&str>) -> Value {
        let mut choice = json!({ "index": 0, "logprobs": null, "finish_reason": finish_reason });
        choice[if self.heading.form == Form::Chat { "delta" } else { "text" }] = text;
        self.object(&[choice], None, true)
    }

    fn object(&self, choices: &[Value], usage: Option<Value>, is_part: bool) -> Value {
        let Heading { form, number, created, model } = &self.heading;
        let (id, kind) = match (form, is_part) {
            (Form::Completion, _) => (format!("cmpl-{number}"), "text_completion"),
            (Form::Chat, false) => (format!("chatcmpl-{number}"), "chat.completion"),
            (Form::Chat, true) => (format!("chatcmpl-{number}"), "chat.completion.chunk"),
        };
        let mut object =
            json!({ "id": id, "object": kind, "created": created, "model": model, "choices": choices });
        if let Some(usage) = usage {
            object["usage"] = usage;
        }
        object
    }

    fn usage(&self) -> Value {
        let Received { prompt_tokens, reused, tokens, .. } = self.received;
        json!({
            "prompt_tokens": prompt_tokens,
            "completion_tokens": tokens,
            "total_tokens": prompt_tokens + tokens,
            "prompt_tokens_details": { "cached_tokens": reused },
        })
    }
}

fn reason(end: &End) -> &'static str {
    match end {
        End::Length => "length",
        _ => "stop",
    }
}
