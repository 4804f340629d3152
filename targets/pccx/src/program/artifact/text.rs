//! A [`Program`] as text: [`assembly`] for its instructions, [`manifest`] for its other parts, and
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

/// Parts of a program other than instructions. Unknown sections have no text form.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    /// Hash of the manifest's own text, which [`read_set`](super::read_set) checks.
    #[serde(default)]
    digest: Seal,
    /// Whether the program uses CVO's extensions.
    extensions: bool,
    /// Document that takes precedence where two contradict each other.
    #[serde(default, skip_serializing_if = "Reading::is_default")]
    reading: Reading,
    /// Index of the weights of each GEMV and GEMM.
    bindings: Vec<u32>,
    /// Hashes of the other files, which [`read_set`](super::read_set) checks. Text may be edited,
    /// so they are not checked here.
    #[serde(default, skip_serializing_if = "Parts::is_empty")]
    sha256: Parts,
    #[serde(default)]
    weights: Vec<WeightsEntry>,
    #[serde(default)]
    window: Vec<Window>,
    #[serde(default)]
    host: Vec<HostOp>,
}

/// Size of a weight image, to identify it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct WeightsEntry {
    n: usize,
    k: usize,
    scales: bool,
}

/// Reason why texts are not a program.
#[derive(Debug, Error)]
pub enum TextError {
    /// Lines that are not instructions.
    #[error("{0}")]
    Assembly(#[from] AsmErrors),
    /// Words that are not instructions.
    #[error("{0}")]
    Code(#[from] DecodeErrors),
    /// The text is not a valid manifest; the message shows the place.
    #[error("{0}")]
    Manifest(String),
    /// The number of weight images differs from the manifest.
    #[error("there are {have} weight images: the manifest lists {need}")]
    Images {
        /// Number of images given.
        have: usize,
        /// Number of images in the manifest.
        need: usize,
    },
    /// The size of a weight image differs from the manifest.
    #[error("weight image {image} is {have}: the manifest requires {need}")]
    Image {
        /// Index of the image.
        image: usize,
        /// Size of the image.
        have: String,
        /// Size in the manifest.
        need: String,
    },
    /// Inconsistent parts of a program.
    #[error("{0}")]
    Program(#[from] ProgramError),
}

/// Returns the instructions of a program as text that assembles to them.
///
/// # Errors
/// All instructions that cannot be encoded, with their places.
pub fn assembly(program: &Program) -> Result<String, EncodeErrors> {
    let bytes = code(program)?;
    let config = program.config().expect("every preset that a program names is there");
    Ok(disassemble_as(&isa(&config), &bytes, None, Words::Value).to_string())
}

/// Returns bindings, sizes of weights, windows and host operations of a program as TOML; `sha256`
/// contains the hashes of the other files.
///
/// # Errors
/// The errors of [`Program::check`].
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

/// Reads the program of an assembly text, a manifest and the weights that the manifest lists.
///
/// # Errors
/// [`TextError::Assembly`] and [`TextError::Code`] for lines and words that are not instructions;
/// [`TextError::Manifest`] for an invalid manifest; [`TextError::Images`] and [`TextError::Image`]
/// for weights that differ from the manifest; the errors of [`Program::check`].
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
