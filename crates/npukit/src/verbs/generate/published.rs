//! [`Published`]: a language model from a GGUF file or a folder, in float.

use std::ops::Range;
use std::sync::Arc;

use npukit_graph::language::{Evaluator, Model};
use npukit_import::llm::gguf::MAGIC;
use npukit_import::llm::tokenizer::Tokenizer;
use npukit_import::llm::{Checkpoint, Layout, LlmError};
use npukit_import::onnx::{Part, ReadRange};
use npukit_target::{Generator, Phase, ReadError, Reader, Step, TargetError};

use crate::error::Error;

/// Returns the layout of the model at `path`; `None` for a description of our own.
pub(in crate::verbs) fn layout(path: &str, reader: &dyn Reader) -> Option<Layout> {
    let begins = |path: &str| reader.read_range(path, 0..MAGIC.len() as u64).map(|part| part.bytes);
    match path.rsplit_once('.') {
        Some((_, "toml")) => None,
        Some((_, "gguf")) => Some(Layout::Gguf),
        _ if begins(&config(path)).is_ok() => Some(Layout::Folder),
        _ => begins(path).is_ok_and(|bytes| bytes == MAGIC).then_some(Layout::Gguf),
    }
}

/// Returns the path of a folder's configuration.
fn config(folder: &str) -> String {
    format!("{}/config.json", folder.trim_end_matches(['/', '\\']))
}

/// Reads a byte range of a file of the model at `path`: of the GGUF file, or of the file `name` in
/// the folder.
pub(in crate::verbs) fn part(
    path: &str,
    layout: Layout,
    reader: &dyn Reader,
    name: &str,
    range: Range<u64>,
) -> Result<Part, String> {
    let part = match layout {
        Layout::Gguf => reader.read_range(path, range),
        Layout::Folder => reader.beside(&config(path), name).and_then(|file| reader.read_range(&file, range)),
    };
    let part = part.map_err(|error: ReadError| error.to_string())?;
    Ok(Part { bytes: part.bytes, file_bytes: part.file_bytes })
}

/// Opens the model at `path`, whose files `files` reads.
pub(in crate::verbs) fn open(
    path: &str,
    layout: Layout,
    files: &ReadRange<'_>,
) -> Result<Checkpoint, LlmError> {
    match layout {
        Layout::Gguf => Checkpoint::open_gguf(path, files),
        Layout::Folder => Checkpoint::open_folder(path, files),
    }
}

/// Language model from a GGUF file or a folder.
pub(super) struct Published {
    pub(super) model: Arc<Model>,
    /// Tokens that end a text.
    pub(super) ends: Vec<usize>,
    tokenizer: Result<Tokenizer, LlmError>,
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
        Ok(Self { model, ends: checkpoint.end_tokens().to_vec(), tokenizer })
    }

    /// Converts a text to tokens.
    pub(super) fn encode(&self, path: &str, text: &str) -> Result<Vec<usize>, Error> {
        match &self.tokenizer {
            Ok(tokenizer) => Ok(tokenizer.encode(text)),
            Err(error) => Err(Error::Checkpoint { path: path.to_owned(), source: Box::new(error.clone()) }),
        }
    }

    /// Returns the text of tokens, or their numbers without a tokenizer.
    pub(super) fn decode(&self, tokens: &[usize]) -> String {
        match &self.tokenizer {
            Ok(tokenizer) => tokenizer.decode(tokens),
            Err(_) => tokens.iter().map(|token| format!("{token} ")).collect(),
        }
    }

    /// Creates a generator without a clock.
    pub(super) fn generator(&self) -> Generator {
        let mut text = Evaluator::new(Arc::clone(&self.model));
        let take = move |tokens: &[usize], begins: bool| {
            if begins {
                text.reset();
            }
            let logits = text.take(tokens).map_err(TargetError::failed)?;
            Ok(Step { logits, cycles: None, program: None })
        };
        Generator::new("float".to_owned(), None, take)
    }

    /// Returns the logits after each token of a prompt, `[tokens, vocabulary]`.
    pub(super) fn logits(&self, prompt: &[usize]) -> Result<Vec<f32>, Error> {
        let mut text = Evaluator::new(Arc::clone(&self.model));
        Ok(text.take_all(prompt).map_err(TargetError::failed)?)
    }
}
