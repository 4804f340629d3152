//! [`Published`]: a language model from a GGUF file or a folder, in float.

use std::ops::Range;
use std::sync::{Arc, Mutex};

use npukit_graph::language::{Evaluator, Model};
use npukit_import::llm::chat_template::{ChatTemplate, Message};
use npukit_import::llm::tokenizer::Tokenizer;
use npukit_import::llm::{Layout, LlmError};
use npukit_target::{Generator, KeysAndValues, Phase, Reader, Step, TargetError, Tokens, locked};

use crate::error::Error;
use crate::model::language::{open, part};

/// Language model from a GGUF file or a folder.
pub(super) struct Published {
    pub(super) model: Arc<Model>,
    /// Tokens that end a text.
    pub(super) ends: Vec<usize>,
    tokenizer: Result<Tokenizer, LlmError>,
    chat: Result<ChatTemplate, LlmError>,
}

impl Published {
    /// Reads the model at `path`.
    pub(super) fn load(path: &str, layout: Layout, reader: &dyn Reader) -> Result<Self, Error> {
        let _phase = Phase::begin("read the model");
        let wrong = |error| Error::Checkpoint { path: path.to_owned(), source: Box::new(error) };
        let files = |name: &str, range: Range<u64>| part(path, layout, reader, name, range);
        let checkpoint = open(path, layout, &files).map_err(wrong)?;
        let model = Arc::new(checkpoint.model(&files).map_err(wrong)?);
        let tokenizer = checkpoint.tokenizer().cloned();
        let chat = checkpoint.chat_template().cloned();
        Ok(Self { model, ends: checkpoint.end_tokens().to_vec(), tokenizer, chat })
    }

    /// Converts a text to tokens.
    pub(super) fn encode(&self, path: &str, text: &str) -> Result<Vec<usize>, Error> {
        let tokens = self.tokenizer.as_ref().map(|tokenizer| tokenizer.encode(text));
        tokens.map_err(|error| unusable(path, error))
    }

    /// Converts a conversation to tokens, up to the begin of the model's next message.
    pub(super) fn encode_chat(&self, path: &str, messages: &[Message]) -> Result<Vec<usize>, Error> {
        let template = self.chat.as_ref().map_err(|error| unusable(path, error))?;
        let text = template.render(messages, true).map_err(|error| unusable(path, &error))?;
        let tokens = self.tokenizer.as_ref().map(|tokenizer| tokenizer.encode_whole(&text));
        tokens.map_err(|error| unusable(path, error))
    }

    /// Returns the text of tokens, or their numbers without a tokenizer.
    pub(super) fn decode(&self, tokens: &[usize]) -> String {
        match &self.tokenizer {
            Ok(tokenizer) => tokenizer.decode(tokens),
            Err(_) => tokens.iter().map(|token| format!("{token} ")).collect(),
        }
    }

    /// Takes the model with its weights out, and keeps its description.
    pub(super) fn give_model(&mut self) -> Arc<Model> {
        let without_weights = Arc::new(self.model.without_weights());
        std::mem::replace(&mut self.model, without_weights)
    }
}

/// Creates a generator without a clock.
pub(super) fn generator(model: Arc<Model>) -> Generator {
    let text = Arc::new(Mutex::new(Evaluator::new(model)));
    let keys_and_values = KeysAndValues::shared(&text, Evaluator::saved, Evaluator::restore);
    let extend = move |Tokens { keep, new, all }: Tokens<'_>| {
        let mut text = locked(&text);
        text.keep(keep);
        let logits = if all { text.take_all(new) } else { text.take(new) };
        Ok(Step { logits: logits.map_err(TargetError::failed)?, cycles: None, program: None })
    };
    Generator::with_memory("float".to_owned(), None, extend, keys_and_values)
}

/// Returns the error for a part of the model that cannot be used.
fn unusable(path: &str, error: &LlmError) -> Error {
    Error::Checkpoint { path: path.to_owned(), source: Box::new(error.clone()) }
}
