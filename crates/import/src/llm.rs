//! Language models as people have them on disk: a GGUF file, or the folder of a model hub.
//!
//! A [`Checkpoint`] has the description of a model and the places of its tensors, and reads the
//! weights. A folder has `config.json`, `model.safetensors` or shards with
//! `model.safetensors.index.json`, and `tokenizer.json`. What a model needs and the files lack is
//! reported before a weight is read.
//!
//! Each supported family is a file of `families/`.

pub mod chat_template;
mod config;
mod error;
mod families;
mod family;
mod folder;
pub mod gguf;
mod json;
mod keys;
mod metadata;
mod plan;
mod sentence;
mod table;
pub mod tokenizer;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use npukit_graph::language::{DecoderError, Description, Encoder, Model, Part, Rotation, Scaling, Weight};
use rayon::prelude::*;

use crate::sidecar_files::ReadRange;
use chat_template::ChatTemplate;
pub use error::LlmError;
use gguf::Gguf;
use keys::Keys;
pub use plan::Layout;
use plan::Plan;
pub use sentence::Sentence;
use table::Table;
use tokenizer::Tokenizer;

/// Language model on disk: its description, the places of its tensors, and its tokenizer.
#[derive(Clone, Debug)]
pub struct Checkpoint {
    plan: Plan,
    tokenizer: Result<Tokenizer, LlmError>,
    chat: Result<ChatTemplate, LlmError>,
    end_tokens: Vec<usize>,
    sentence: Option<Sentence>,
}

impl Checkpoint {
    /// Opens the GGUF file at `path`, which `files` reads.
    ///
    /// # Errors
    ///
    /// [`LlmError`] if the file is not valid, is a model of an unsupported family, or lacks what
    /// its description requires. A tokenizer that is not supported is not an error here.
    pub fn open_gguf(path: &str, files: &ReadRange<'_>) -> Result<Self, LlmError> {
        let file = Gguf::read(path, files)?;
        let text = |key: &str| file.metadata.get(key).and_then(gguf::Value::as_str);
        let architecture = text(ARCHITECTURE).ok_or_else(|| LlmError::Key {
            path: path.to_owned(),
            key: ARCHITECTURE.to_owned(),
            found: "missing".to_owned(),
            legal: "a text".to_owned(),
        })?;
        let family = families::of_architecture(architecture).ok_or_else(|| {
            let known = families::ALL.iter().flat_map(|family| family.architectures);
            LlmError::Family { path: path.to_owned(), found: architecture.to_owned(), known: listed(known) }
        })?;
        let config = metadata::as_config(path, architecture, family, &file)?;
        let name_in_file = |name: &str| metadata::name_in_file(architecture, name);
        let keys = Keys::new(path, &config, &name_in_file);
        let name = text("general.name").unwrap_or(path);
        let mut description = config::description(name, family, family.gguf_pairs, &keys)?;
        let table = Table::of_gguf(path, &file);
        rotations_of_tensors(&table, &mut description, files)?;
        let biases = family.biases.to_vec();
        let plan = Plan { path: path.to_owned(), description, family, layout: Layout::Gguf, table, biases };
        plan.check()?;
        let tokenizer = Tokenizer::from_gguf(path, &file, plan.description.vocabulary);
        let chat = ChatTemplate::from_gguf(path, &file);
        let is_encoder = plan.description.is_encoder();
        let sentence = is_encoder.then(|| Sentence::of_gguf(path, architecture, &file)).transpose()?;
        Ok(Self { plan, tokenizer, chat, end_tokens: end_tokens(&file), sentence })
    }

    /// Opens a folder. `files` reads its files by their names.
    ///
    /// # Errors
    ///
    /// Like [`Self::open_gguf`].
    pub fn open_folder(name: &str, files: &ReadRange<'_>) -> Result<Self, LlmError> {
        folder::open(name, files)
    }

    /// Opens the shapes in the `config.json` of a folder, which needs no weights and no tokenizer.
    /// The type of the tensors is stated there, or is BF16.
    ///
    /// # Errors
    ///
    /// Like [`Self::open_gguf`], as far as the configuration shows it.
    pub fn open_shapes(name: &str, files: &ReadRange<'_>) -> Result<Self, LlmError> {
        folder::open_shapes(name, files)
    }

    /// Whether a folder has a file of weights or of their places. `files` reads its files by their
    /// names.
    pub fn has_weights(files: &ReadRange<'_>) -> bool {
        folder::has_weights(files)
    }

    /// Description of the computation.
    pub fn description(&self) -> &Description {
        &self.plan.description
    }

    /// Returns the tokenizer.
    ///
    /// # Errors
    ///
    /// [`LlmError::Tokenizer`], [`LlmError::File`] or [`LlmError::Json`] if there is none, or if it
    /// is not supported.
    pub fn tokenizer(&self) -> Result<&Tokenizer, LlmError> {
        self.tokenizer.as_ref().map_err(Clone::clone)
    }

    /// Returns the template for conversations.
    ///
    /// # Errors
    ///
    /// [`LlmError::NoTemplate`] if there is none, or the error of reading it.
    pub fn chat_template(&self) -> Result<&ChatTemplate, LlmError> {
        self.chat.as_ref().map_err(Clone::clone)
    }

    /// Tokens that end a text.
    pub fn end_tokens(&self) -> &[usize] {
        &self.end_tokens
    }

    /// How an encoder makes one vector of a text; `None` for a decoder.
    pub fn sentence(&self) -> Option<&Sentence> {
        self.sentence.as_ref()
    }

    /// Reads the weights of a decoder. Memory is that of the tensors in the files, whose formats
    /// are kept.
    ///
    /// # Errors
    ///
    /// [`LlmError::Structure`] for an encoder; [`LlmError::File`] if a file cannot be read or has
    /// become shorter; [`LlmError::NotFinite`] for an element that is NaN or infinite.
    pub fn model(&self, files: &ReadRange<'_>) -> Result<Model, LlmError> {
        self.check_structure(false)?;
        self.read(files, |description, weight| Model::new(description, weight))
    }

    /// Reads the weights of an encoder.
    ///
    /// # Errors
    ///
    /// Like [`Self::model`], with [`LlmError::Structure`] for a decoder.
    pub fn encoder(&self, files: &ReadRange<'_>) -> Result<Encoder, LlmError> {
        self.check_structure(true)?;
        self.read(files, |description, weight| Encoder::new(description, weight))
    }

    /// Returns a decoder with weights of zeros, in the formats of the files. No weight is read.
    ///
    /// # Errors
    ///
    /// [`LlmError::Structure`] for an encoder.
    pub fn zeros(&self) -> Result<Model, LlmError> {
        self.check_structure(false)?;
        let weight = |part, layer| self.plan.zeros(part, layer).map_err(Failure::File);
        Model::new(self.plan.description.clone(), weight).map_err(|failure| self.failed(failure))
    }

    fn check_structure(&self, wants_encoder: bool) -> Result<(), LlmError> {
        let is_encoder = self.plan.description.is_encoder();
        let name = |is_encoder: bool| if is_encoder { "an encoder" } else { "a decoder" };
        let (path, found, expected) = (self.plan.path.clone(), name(is_encoder), name(wants_encoder));
        if is_encoder == wants_encoder { Ok(()) } else { Err(LlmError::Structure { path, found, expected }) }
    }

    /// Combines the weights by `new`. They are read in parallel: then each thread has memory that
    /// other weights can use once these are converted.
    fn read<T>(
        &self,
        files: &ReadRange<'_>,
        new: impl FnOnce(Description, &mut ReadWeight<'_>) -> Result<T, Failure>,
    ) -> Result<T, LlmError> {
        let groups: BTreeSet<Option<usize>> = self.plan.description.parts().map(|(_, layer)| layer).collect();
        let group = |layer: Option<usize>| -> Result<Vec<_>, LlmError> {
            let mut fused = BTreeMap::new();
            let parts = self.plan.description.parts().filter(|(_, of)| *of == layer);
            parts.map(|key| Ok((key, self.plan.weight(key.0, key.1, &mut fused, files)?))).collect()
        };
        let read: Vec<Result<Vec<_>, LlmError>> = groups.into_par_iter().map(group).collect();
        let read: Vec<Vec<_>> = read.into_iter().collect::<Result<_, _>>()?;
        let mut read: BTreeMap<_, _> = read.into_iter().flatten().collect();
        let mut weight = |part, layer| {
            let missing = || LlmError::Missing { path: self.plan.path.clone(), names: format!("{part:?}") };
            read.remove(&(part, layer)).ok_or_else(|| Failure::File(missing()))
        };
        new(self.plan.description.clone(), &mut weight).map_err(|failure| self.failed(failure))
    }

    fn failed(&self, failure: Failure) -> LlmError {
        match failure {
            Failure::File(error) => error,
            Failure::Model(source) => LlmError::Model { path: self.plan.path.clone(), source },
        }
    }
}

/// Reads a part of a model (`None`) or of a layer (its index).
type ReadWeight<'a> = dyn FnMut(Part, Option<usize>) -> Result<Weight, Failure> + 'a;

/// Key of a GGUF file that names the family.
const ARCHITECTURE: &str = "general.architecture";

/// Returns the tokens that end a text, of a turn or of a message.
fn end_tokens(file: &Gguf) -> Vec<usize> {
    let keys = ["eos", "eot", "eom"].map(|end| format!("tokenizer.ggml.{end}_token_id"));
    let tokens = keys.iter().filter_map(|key| file.metadata.get(key)?.as_u64());
    tokens.filter_map(|token| usize::try_from(token).ok()).collect()
}

/// Error of reading or of combining weights.
enum Failure {
    File(LlmError),
    Model(Box<DecoderError>),
}

impl From<DecoderError> for Failure {
    fn from(error: DecoderError) -> Self {
        Self::Model(Box::new(error))
    }
}

/// Replaces the scaling of the rotations by the divisors that a GGUF file has as tensors.
fn rotations_of_tensors(
    table: &Table,
    description: &mut Description,
    files: &ReadRange<'_>,
) -> Result<(), LlmError> {
    let divisors = |name: &str| -> Result<Option<Vec<f64>>, LlmError> {
        let Some(place) = table.get(name) else { return Ok(None) };
        let rows = place.read(name, files)?;
        Ok(Some(rows.to_floats().into_iter().map(f64::from).collect()))
    };
    let Some(Rotation { scaling, .. }) = description.rotations.first_mut() else { return Ok(()) };
    if let Some(all) = divisors("rope_freqs.weight")? {
        *scaling = Scaling::Divisors(all);
    }
    Ok(())
}

/// Lists the first of the names.
fn listed<T: Display>(names: impl IntoIterator<Item = T>) -> String {
    const MAX: usize = 20;
    let names: Vec<String> = names.into_iter().map(|name| name.to_string()).collect();
    let more = names.len().saturating_sub(MAX);
    let listed = names[..names.len() - more].join(", ");
    if more == 0 { listed } else { format!("{listed} and {more} more") }
}
