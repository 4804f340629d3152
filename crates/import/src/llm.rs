//! Language models as people have them on disk: a GGUF file, or the folder of a model hub.
//!
//! A [`Checkpoint`] has the description of a model and the places of its tensors, and reads the
//! weights. A folder has `config.json`, `model.safetensors` or shards with
//! `model.safetensors.index.json`, and `tokenizer.json`. What a model needs and the files lack is
//! reported before a weight is read.
//!
//! Each supported family is a file of `families/`.

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

use std::collections::BTreeMap;
use std::fmt::Display;

use npukit_graph::language::{DecoderError, Description, Encoder, Model, Part, Rotation, Scaling, Weight};

use crate::sidecar_files::ReadRange;
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
        let is_encoder = plan.description.is_encoder();
        let sentence = is_encoder.then(|| Sentence::of_gguf(path, architecture, &file)).transpose()?;
        Ok(Self { plan, tokenizer, end_tokens: end_tokens(&file), sentence })
    }

    /// Opens a folder. `files` reads its files by their names.
    ///
    /// # Errors
    ///
    /// Like [`Self::open_gguf`].
    pub fn open_folder(name: &str, files: &ReadRange<'_>) -> Result<Self, LlmError> {
        folder::open(name, files)
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

    fn check_structure(&self, wants_encoder: bool) -> Result<(), LlmError> {
        let is_encoder = self.plan.description.is_encoder();
        let name = |is_encoder: bool| if is_encoder { "an encoder" } else { "a decoder" };
        let (path, found, expected) = (self.plan.path.clone(), name(is_encoder), name(wants_encoder));
        if is_encoder == wants_encoder { Ok(()) } else { Err(LlmError::Structure { path, found, expected }) }
    }

    /// Combines the weights by `new`.
    fn read<T>(
        &self,
        files: &ReadRange<'_>,
        new: impl FnOnce(Description, &mut ReadWeight<'_>) -> Result<T, Failure>,
    ) -> Result<T, LlmError> {
        let mut fused = BTreeMap::new();
        let mut weight =
            |part, layer| self.plan.weight(part, layer, &mut fused, files).map_err(Failure::File);
        new(self.plan.description.clone(), &mut weight).map_err(|failure| match failure {
            Failure::File(error) => error,
            Failure::Model(source) => LlmError::Model { path: self.plan.path.clone(), source },
        })
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
