//! [`Language`]: a language model with its tokenizer, and generators for it.

use std::sync::Arc;

use npukit_graph::decoder::{DecoderModel, Session};
use npukit_graph::language::Model;
use npukit_import::decoder::{self, Decoder, Text};
use npukit_import::llm::LlmError;
use npukit_import::llm::chat_template::Message;
use npukit_target::{Generator, GeneratorOptions, LanguageModel, Reader, Step, TargetError};

use super::Request;
use super::published::{self, Published};
use crate::error::{Error, text_of};
use crate::model::language::layout;
use crate::targets::resolve;

/// Embedded model, with held-out texts; `assets/README.md` describes their origin.
const ADDER: &[u8] = include_bytes!("../../../assets/adder.toml");
const WEIGHTS: &[u8] = include_bytes!("../../../assets/adder.safetensors");
const HELD_OUT: &[u8] = include_bytes!("../../../assets/adder_held_out.txt");
const ADDER_PATH: &str = "adder.toml";

/// Default limit of tokens, because memory for them is allocated at once.
pub(super) const USUAL_TOKENS: usize = 256;

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

    /// Returns the SHA-256 of the model.
    ///
    /// # Errors
    ///
    /// [`Error::Inapplicable`] for a description of our own: machines keep no keys and values then.
    pub(super) fn digest(&self) -> Result<[u8; 32], Error> {
        match &self.form {
            Form::Described { .. } => {
                let (path, option) = (self.path.clone(), "--keep".to_owned());
                Err(Error::Inapplicable { path, option, found: "a description of a model" })
            }
            Form::Published(published) => Ok(published.model.digest()),
        }
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

    /// Encodes a conversation, up to the begin of the model's next message.
    pub(super) fn encode_chat(&self, messages: &[Message]) -> Result<Vec<usize>, Error> {
        match &self.form {
            Form::Described { .. } => {
                let source = Box::new(LlmError::NoTemplate { path: self.path.clone() });
                Err(Error::Checkpoint { path: self.path.clone(), source })
            }
            Form::Published(published) => published.encode_chat(&self.path, messages),
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

    /// Returns the number of tokens of a text with a prompt of `length` tokens and at most `tokens`
    /// further ones. The last one needs no space: nothing follows it.
    pub(super) fn needed(length: usize, tokens: Option<usize>) -> usize {
        length.saturating_add(tokens.unwrap_or(USUAL_TOKENS).saturating_sub(1))
    }

    /// Maximum number of tokens of a text.
    pub(super) fn limit(&self) -> usize {
        match &self.form {
            Form::Described { model, .. } => model.config().context,
            Form::Published(published) => published.model.description().limit(),
        }
    }

    /// Number of tokens that the model knows.
    fn vocabulary(&self) -> usize {
        match &self.form {
            Form::Described { model, .. } => model.config().vocabulary,
            Form::Published(published) => published.model.description().vocabulary,
        }
    }

    /// Checks that a smaller model, from `path`, has the same tokens.
    pub(super) fn check_tokens_of(&self, draft: &Self, path: &str) -> Result<(), Error> {
        let [own, other] = [self, draft].map(Self::vocabulary);
        let differs = |token: &usize| self.decode(&[*token]) != draft.decode(&[*token]);
        let reason = match (0..own).find(differs) {
            _ if own != other => format!("it has {other} tokens instead of {own}"),
            Some(token) => {
                let [own, other] = [self, draft].map(|language| language.decode(&[token]));
                format!("token {token} is {other:?} instead of {own:?}")
            }
            None => return Ok(()),
        };
        Err(Error::OtherTokens { path: path.to_owned(), model: self.path.clone(), reason })
    }

    /// Creates a generator with space for `capacity` tokens, 1 to the limit.
    pub(super) fn generator(
        &self,
        request: &Request,
        capacity: usize,
        reader: &dyn Reader,
    ) -> Result<Generator, Error> {
        self.generator_of(None, request, capacity, reader)
    }

    /// Like [`Self::generator`], for the last generator: it gets the weights, which this model then
    /// no longer has.
    pub(super) fn last_generator(
        &mut self,
        request: &Request,
        capacity: usize,
        reader: &dyn Reader,
    ) -> Result<Generator, Error> {
        let model = match &mut self.form {
            Form::Described { .. } => None,
            Form::Published(published) => Some(published.give_model()),
        };
        self.generator_of(model, request, capacity, reader)
    }

    /// Creates a generator, with a model that was taken out of this one if there is one.
    fn generator_of(
        &self,
        taken: Option<Arc<Model>>,
        request: &Request,
        capacity: usize,
        reader: &dyn Reader,
    ) -> Result<Generator, Error> {
        let text = |path: &String| self.encode(text_of(path, &reader.read(path)?)?);
        // Default: no text for calibration.
        let calibration = request.calibrate.as_ref().map(text).transpose()?.unwrap_or_default();
        let options = GeneratorOptions { capacity, calibration, options: request.options.clone() };
        let target = request.target.as_ref().map(|target| resolve(target, reader)).transpose()?;
        let model = match (&self.form, taken) {
            (_, Some(model)) => LanguageModel::Published(model),
            (Form::Described { model, .. }, None) => LanguageModel::Described(model),
            (Form::Published(published), None) => LanguageModel::Published(Arc::clone(&published.model)),
        };
        match (model, target) {
            (model, Some(target)) => {
                let language = target.language_models();
                let language = language.ok_or_else(|| target.info().unsupported("generate"))?;
                Ok((language.generator)(model, &options)?)
            }
            (LanguageModel::Described(model), None) => {
                Ok(in_float(Session::new(model, capacity).map_err(TargetError::failed)?))
            }
            (LanguageModel::Published(model), None) => Ok(published::generator(model)),
        }
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
        let lines = text_of(path, &bytes)?.lines().enumerate();
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
