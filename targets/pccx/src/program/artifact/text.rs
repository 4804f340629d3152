//! A [`Program`] as text: [`assembly`] for its instructions, [`manifest`] for what else it has, and
//! [`read_text`] for both with the weights. Source: specification 9.

use std::sync::Arc;

use npukit_asm::{AsmErrors, Words, assemble, disassemble_as};
use npukit_target::{Parts, Seal};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::writing::code;
use crate::config::Reading;
use crate::isa::codec::{Codec, DecodeErrors, EncodeErrors, decode_program};
use crate::isa::isa;
use crate::machine::weights::WeightImage;
use crate::program::{HostOp, Program, ProgramError, Window};

/// What of a program is not instructions. Sections of others have no text.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    /// Of this text as it was written, which [`read_set`](super::read_set) checks.
    #[serde(default)]
    digest: Seal,
    /// Whether it uses CVO's extensions.
    extensions: bool,
    /// Which text it goes by where two say different things.
    #[serde(default, skip_serializing_if = "Reading::is_default")]
    reading: Reading,
    /// Index of the weights of each GEMV and GEMM.
    bindings: Vec<u32>,
    /// Of the files beside it, which [`read_set`](super::read_set) checks. Text may be edited: it is not checked here.
    #[serde(default, skip_serializing_if = "Parts::is_empty")]
    sha256: Parts,
    #[serde(default)]
    weights: Vec<WeightsEntry>,
    #[serde(default)]
    window: Vec<Window>,
    #[serde(default)]
    host: Vec<HostOp>,
}

/// The size of an image, by which it is known again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WeightsEntry {
    n: usize,
    k: usize,
    scales: bool,
}

/// Why texts are not a program.
#[derive(Debug, Error)]
pub enum TextError {
    /// Lines that are not instructions.
    #[error("{0}")]
    Assembly(#[from] AsmErrors),
    /// Words that are not instructions.
    #[error("{0}")]
    Code(#[from] DecodeErrors),
    /// Not the TOML of a manifest; the text draws the place.
    #[error("{0}")]
    Manifest(String),
    /// Not as many weights as the manifest lists.
    #[error("there are {have} weight images: the manifest lists {need}")]
    Images {
        /// Images given.
        have: usize,
        /// Images listed.
        need: usize,
    },
    /// Weights of another size than the manifest's.
    #[error("weight image {image} is {have}: the manifest says {need}")]
    Image {
        /// Which one.
        image: usize,
        /// What it is.
        have: String,
        /// What it should be.
        need: String,
    },
    /// Parts that do not go together.
    #[error("{0}")]
    Program(#[from] ProgramError),
}

/// The instructions of a program as text that assembles to them.
///
/// # Errors
///
/// Every instruction that cannot be encoded, with its place.
pub fn assembly(program: &Program) -> Result<String, EncodeErrors> {
    let bytes = code(program)?;
    let config = program.config().expect("every preset that a program names is there");
    Ok(disassemble_as(&isa(&config), &bytes, None, Words::Value).to_string())
}

/// Bindings, sizes of weights, windows and host operations of a program that keeps its rules, as TOML; `sha256` are
/// those of the files beside it.
///
/// # Errors
///
/// Those of [`Program::check`].
pub fn manifest(program: &Program, sha256: Parts) -> Result<String, ProgramError> {
    program.check()?;
    let manifest = Manifest {
        digest: Seal::default(),
        extensions: program.extensions,
        reading: program.reading,
        bindings: program.bindings.clone(),
        sha256,
        weights: program.images.iter().map(|image| WeightsEntry::of(image)).collect(),
        window: program.windows.clone(),
        host: program.host_ops.clone(),
    };
    let text =
        toml::to_string(&manifest).expect("numbers are small, and every value comes before the tables");
    Ok(Seal::default().put(&text))
}

/// The program of an assembly text, a manifest and the weights that it lists.
///
/// # Errors
///
/// [`TextError::Assembly`] and [`TextError::Code`] for lines and words that are not instructions;
/// [`TextError::Manifest`] for what is not a manifest; [`TextError::Images`] and [`TextError::Image`] for
/// weights of other numbers and sizes than it lists; those of [`Program::check`].
pub fn read_text(
    assembly: &str,
    manifest: &str,
    images: Vec<Arc<WeightImage>>,
) -> Result<Program, TextError> {
    let manifest: Manifest =
        toml::from_str(manifest).map_err(|error| TextError::Manifest(error.to_string()))?;
    check_images(&manifest.weights, &images)?;
    let mut program = Program {
        extensions: manifest.extensions,
        reading: manifest.reading,
        bindings: manifest.bindings,
        images,
        windows: manifest.window,
        host_ops: manifest.host,
        ..Program::default()
    };
    if let Some(config) = program.config() {
        let bytes = assemble(&isa(&config), "assembly", assembly)?.bytes;
        program.code = decode_program(&Codec::new(&config), &bytes)?;
    }
    program.check()?;
    Ok(program)
}

fn check_images(listed: &[WeightsEntry], images: &[Arc<WeightImage>]) -> Result<(), TextError> {
    let (have, need) = (images.len(), listed.len());
    if have != need {
        return Err(TextError::Images { have, need });
    }
    for (image, (listed, have)) in listed.iter().zip(images).enumerate() {
        let have = WeightsEntry::of(have);
        if have != *listed {
            return Err(TextError::Image { image, have: have.to_string(), need: listed.to_string() });
        }
    }
    Ok(())
}

impl WeightsEntry {
    fn of(image: &WeightImage) -> Self {
        Self { n: image.n(), k: image.k(), scales: image.scales().is_some() }
    }
}

impl std::fmt::Display for WeightsEntry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { n, k, scales } = self;
        write!(f, "{n} rows of {k}, {} scales", if *scales { "with" } else { "without" })
    }
}
