//! [`Language`]: a language model with its tokenizer, and generators for it.

use std::sync::Arc;

use npukit_graph::decoder::{DecoderError, DecoderModel, Session};
use npukit_import::decoder::{self, Decoder, Text};
use npukit_numeric::Tensor;
use npukit_target::{Generator, GeneratorOptions, LanguageModel, Reader, Step, TargetError};

use super::Request;
use super::published::{Published, layout};
use crate::error::Error;
use crate::targets::resolve;

/// Embedded model, with held-out texts; `assets/README.md` describes their origin.
const ADDER: &[u8] = include_bytes!("../../../assets/adder.toml");
const WEIGHTS: &[u8] = include_bytes!("../../../assets/adder.safetensors");
const HELD_OUT: &[u8] = include_bytes!("../../../assets/adder_held_out.txt");
const ADDER_PATH: &str = "adder.toml";

/// Default limit of tokens, because memory for them is allocated at once.
const USUAL_TOKENS: usize = 256;

/// Language model with its tokenizer.
pub(super) struct Language {
    form: Form,
    path: String,
    is_embedded: bool,
}

/// Form of a model.
enum Form {
    /// A description of our own, which machines support.
    Described { model: Box<DecoderModel>, text: Text },
    /// A GGUF file or folder.
    Published(Box<Published>),
}

impl Language {
    /// Loads the model at `path`, or the embedded one.
    pub(super) fn load(path: Option<&str>, reader: &dyn Reader) -> Result<Self, Error> {
        let is_embedded = path.is_none();
        let form = match (path, path.and_then(|path| layout(path, reader))) {
            (Some(path), Some(layout)) => Form::Published(Box::new(Published::load(path, layout, reader)?)),
            _ => described(path, reader)?,
        };
        Ok(Self { form, path: path.unwrap_or(ADDER_PATH).to_owned(), is_embedded })
    }

    /// Returns the bytes of the description at `path`, or of the embedded one.
    pub(super) fn description(path: Option<&str>, reader: &dyn Reader) -> Result<Vec<u8>, Error> {
        path.map_or_else(|| Ok(ADDER.to_vec()), |path| Ok(reader.read(path)?))
    }

    /// Name of the model.
    pub(super) fn name(&self) -> &str {
        match &self.form {
            Form::Described { model, .. } => &model.config().name,
            Form::Published(published) => &published.model.description().name,
        }
    }

    /// Encodes the prompt as tokens.
    pub(super) fn encode(&self, prompt: &str) -> Result<Vec<usize>, Error> {
        match &self.form {
            Form::Described { text, .. } => text
                .encode(prompt)
                .map_err(|error| Error::Prompt { model: self.path.clone(), source: Box::new(error) }),
            Form::Published(published) => published.encode(&self.path, prompt),
        }
    }

    /// Returns the text of tokens.
    pub(super) fn decode(&self, tokens: &[usize]) -> String {
        match &self.form {
            Form::Described { text, .. } => text.decode(tokens),
            Form::Published(published) => published.decode(tokens),
        }
    }

    /// Tokens that end a text.
    pub(super) fn stops(&self) -> Vec<usize> {
        match &self.form {
            Form::Described { text, .. } => text.stop().into_iter().collect(),
            Form::Published(published) => published.ends.clone(),
        }
    }

    /// Returns the maximum number of tokens after a prompt of `length` tokens. The last one needs
    /// no space: nothing follows it.
    pub(super) fn most(&self, request: &Request, length: usize) -> usize {
        let room = (self.limit() + 1).saturating_sub(length);
        request.tokens.unwrap_or(USUAL_TOKENS).min(room)
    }

    /// Maximum number of tokens of a text.
    fn limit(&self) -> usize {
        match &self.form {
            Form::Described { model, .. } => model.config().context,
            Form::Published(published) => published.model.description().limit(),
        }
    }

    /// Creates a generator with space for a prompt of `length` tokens and the generated ones.
    pub(super) fn generator(
        &self,
        request: &Request,
        length: usize,
        reader: &dyn Reader,
    ) -> Result<Generator, Error> {
        let needed = length + self.most(request, length).saturating_sub(1);
        let capacity = needed.clamp(1, self.limit());
        let options = GeneratorOptions { capacity, options: request.options.clone() };
        match (&self.form, &request.target) {
            (Form::Described { model, .. }, None) => {
                Ok(in_float(Session::new(model, capacity).map_err(TargetError::failed)?))
            }
            (Form::Described { model, .. }, Some(target)) => {
                Ok(resolve(target, reader)?.generator(LanguageModel::Described(model), &options)?)
            }
            (Form::Published(published), None) => Ok(published.generator()),
            (Form::Published(published), Some(target)) => {
                let model = Arc::clone(&published.model);
                Ok(resolve(target, reader)?.generator(LanguageModel::Published(model), &options)?)
            }
        }
    }

    /// Returns the logits after each token of a prompt, `[tokens, vocabulary]`.
    pub(super) fn logits(
        &self,
        request: &Request,
        prompt: &[usize],
        reader: &dyn Reader,
    ) -> Result<Tensor, Error> {
        let logits = match &self.form {
            Form::Published(published) if request.target.is_none() => published.logits(prompt)?,
            _ => {
                let mut generator = self.generator(request, prompt.len(), reader)?;
                let rows = prompt.iter().map(|&token| Ok(generator.take(&[token])?.logits));
                rows.collect::<Result<Vec<_>, Error>>()?.concat()
            }
        };
        let vocabulary = logits.len() / prompt.len().max(1);
        let tensor = Tensor::from_f32(vec![prompt.len(), vocabulary], logits);
        Ok(tensor.map_err(|_| TargetError::failed(DecoderError::NoTokens))?)
    }

    /// Returns the warnings for the author of the request's instance.
    pub(super) fn warnings(request: &Request, reader: &dyn Reader) -> Result<Vec<String>, Error> {
        request
            .target
            .as_deref()
            .map_or(Ok(Vec::new()), |target| Ok(resolve(target, reader)?.info().warnings.clone()))
    }

    /// Reads held-out prompts and their answers, from the file at `path` or of the embedded model.
    pub(super) fn held_out(&self, path: Option<&str>, reader: &dyn Reader) -> Result<HeldOut, Error> {
        let (path, bytes) = match path {
            Some(path) => (path, reader.read(path)?),
            None if self.is_embedded => ("adder_held_out.txt", HELD_OUT.to_vec()),
            None => return Err(Error::NoHeldOut { path: self.path.clone() }),
        };
        let not_text = |error: std::str::Utf8Error| Error::NotText {
            path: path.to_owned(),
            offset: error.valid_up_to(),
        };
        let lines = std::str::from_utf8(&bytes).map_err(not_text)?.lines().enumerate();
        let text = |(index, line): (usize, &str)| {
            let missing = || Error::HeldOut { path: path.to_owned(), line: index + 1 };
            let (prompt, answer) = line.split_once('\t').ok_or_else(missing)?;
            let prompt = self.encode(prompt).map_err(|error| no_answer(path, index, error))?;
            Ok((prompt, answer.to_owned()))
        };
        Ok(HeldOut { path: path.to_owned(), texts: lines.map(text).collect::<Result<_, Error>>()? })
    }
}

/// Held-out texts, one per line.
pub(super) struct HeldOut {
    path: String,
    /// Prompts and their answers.
    pub(super) texts: Vec<(Vec<usize>, String)>,
}

impl HeldOut {
    /// Returns the error for the text at `index`.
    pub(super) fn no_answer(&self, index: usize, error: Error) -> Error {
        no_answer(&self.path, index, error)
    }
}

fn no_answer(path: &str, index: usize, error: Error) -> Error {
    Error::HeldOutPrompt { path: path.to_owned(), line: index + 1, source: Box::new(error) }
}

/// Reads the model described at `path`, or the embedded one.
fn described(path: Option<&str>, reader: &dyn Reader) -> Result<Form, Error> {
    let read = match path {
        None => decoder::read(ADDER, &|_| Ok(WEIGHTS.to_vec())),
        Some(path) => {
            let beside = |name: &str| {
                let bytes = reader.beside(path, name).and_then(|file| reader.read(&file));
                bytes.map_err(|error| error.to_string())
            };
            decoder::read(&reader.read(path)?, &beside)
        }
    };
    let path = path.unwrap_or(ADDER_PATH).to_owned();
    let wrong = |error| Error::Description { path: path.clone(), source: Box::new(error) };
    let Decoder { model, text } = read.map_err(wrong)?;
    let text = text.ok_or(Error::NoText { path })?;
    Ok(Form::Described { model: Box::new(model), text })
}

/// Wraps the float evaluator as a generator without a clock.
fn in_float(mut session: Session) -> Generator {
    let take = move |tokens: &[usize], begins: bool| {
        if begins {
            session.reset();
        }
        let logits = session.take(tokens).map_err(TargetError::failed)?;
        Ok(Step { logits, cycles: None, program: None })
    };
    Generator::new("float".to_owned(), None, take)
}
