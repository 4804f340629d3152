//! Files that drivers load: `NAME.skeleton.toml`, the manifest, `NAME.words`, the program, and
//! `NAME.data`, its constants, if it has any.
//!
//! [`write()`] converts a [`Program`] to files, [`read`] converts them back.

use npukit_isa::program::ProgramErrors;
use npukit_target::{ArtifactFile, Parts, ReadError, Reader, sibling};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::config::{Config, ConfigError};
use crate::isa::codec::{DecodeError, decode_program, encode_program};
use crate::isa::op::Op;
use crate::program::{Binding, Constant, Layer, Program};

/// Extension of manifests.
pub const EXTENSION: &str = "skeleton.toml";

/// Bytes of a number in the data file.
const NUMBER_BYTES: usize = 2;

/// Version of the manifest format.
const FORMAT: &str = "npukit-skeleton-1";

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Manifest {
    format: String,
    name: String,
    instance: String,
    /// File name of the words.
    program: String,
    /// File name of the constants: 16 bits per number, little-endian, one constant after the other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    data: Option<String>,
    /// SHA-256 of the other files.
    #[serde(default, skip_serializing_if = "Parts::is_empty")]
    sha256: Parts,
    config: Config,
    #[serde(default, rename = "constant", skip_serializing_if = "Vec::is_empty")]
    constants: Vec<Stored>,
    #[serde(default, rename = "input", skip_serializing_if = "Vec::is_empty")]
    inputs: Vec<Binding>,
    #[serde(default, rename = "output", skip_serializing_if = "Vec::is_empty")]
    outputs: Vec<Binding>,
    #[serde(default, rename = "layer", skip_serializing_if = "Vec::is_empty")]
    layers: Vec<Layer>,
}

/// Place of a constant whose numbers are in the data file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Stored {
    name: String,
    address: u32,
    /// Count of its numbers.
    numbers: usize,
    saturated: u64,
}

/// Reason why files are not a valid program.
#[derive(Debug, Error)]
pub enum ArtifactError {
    /// A file cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The manifest is not TOML, or a key is missing, unknown or of the wrong type.
    #[error("{file}: {message}")]
    Manifest {
        /// Path of the manifest.
        file: String,
        /// Defect of the manifest.
        message: String,
    },
    /// A number of the configuration is out of range.
    #[error("{file}: config: {source}")]
    Config {
        /// Path of the manifest.
        file: String,
        /// The invalid number.
        source: ConfigError,
    },
    /// Words that cannot be executed.
    #[error("{file}: {source}")]
    Program {
        /// Path of the file of words.
        file: String,
        /// The invalid words.
        source: ProgramErrors<DecodeError>,
    },
    /// Keys that contradict each other.
    #[error("{file}: {reason}")]
    Invalid {
        /// Path of the manifest.
        file: String,
        /// Description of the contradiction.
        reason: String,
    },
    /// An operand does not fit its field.
    #[error(transparent)]
    Encode(#[from] Box<npukit_isa::FieldError>),
}

/// Returns the files of `program`, the manifest first.
///
/// # Errors
///
/// An operand does not fit its field.
pub fn write(program: &Program) -> Result<Vec<ArtifactFile>, ArtifactError> {
    let manifest_name = format!("{}.{EXTENSION}", program.name);
    let words_name = format!("{}.words", program.name);
    let words = ArtifactFile { name: words_name.clone(), bytes: encode_program(&program.instructions)? };
    let data = (!program.constants.is_empty()).then(|| data_file(program));
    let data_name = data.as_ref().map(|file| file.name.clone());
    let parts: Vec<ArtifactFile> = [words].into_iter().chain(data).collect();
    let manifest = Manifest {
        format: FORMAT.to_owned(),
        name: program.name.clone(),
        instance: program.instance.clone(),
        program: words_name,
        data: data_name,
        sha256: Parts::of(&parts),
        config: program.config.clone(),
        constants: program.constants.iter().map(Stored::from).collect(),
        inputs: program.inputs.clone(),
        outputs: program.outputs.clone(),
        layers: program.layers.clone(),
    };
    let text = toml::to_string(&manifest).map_err(|error| ArtifactError::Manifest {
        file: manifest_name.clone(),
        message: error.to_string(),
    })?;
    let manifest = ArtifactFile { name: manifest_name, bytes: text.into_bytes() };
    Ok([manifest].into_iter().chain(parts).collect())
}

fn data_file(program: &Program) -> ArtifactFile {
    let numbers = program.constants.iter().flat_map(|constant| &constant.numbers);
    let bytes = numbers.flat_map(|number| number.to_le_bytes()).collect();
    ArtifactFile { name: format!("{}.data", program.name), bytes }
}

impl From<&Constant> for Stored {
    fn from(constant: &Constant) -> Self {
        let Constant { name, address, numbers, saturated } = constant;
        Self { name: name.clone(), address: *address, numbers: numbers.len(), saturated: *saturated }
    }
}

/// Reads the program whose manifest is at `path`. The other files are next to it.
///
/// # Errors
///
/// [`ArtifactError`], with the file.
pub fn read(path: &str, files: &dyn Reader) -> Result<Program, ArtifactError> {
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path).to_owned();
    let wrong = |message: String| ArtifactError::Manifest { file: file.clone(), message };
    let bytes = files.read(path)?;
    let text = std::str::from_utf8(&bytes)
        .map_err(|error| wrong(format!("byte {} is not UTF-8 text", error.valid_up_to())))?;
    let read: Manifest = toml::from_str(text).map_err(|error| wrong(error.to_string()))?;
    if read.format != FORMAT {
        return Err(wrong(format!("`format` is `{}`: this npukit reads `{FORMAT}`", read.format)));
    }
    read.config.check().map_err(|source| ArtifactError::Config { file: file.clone(), source })?;
    let words = files.read(&sibling(path, &read.program)?)?;
    read.sha256.check(&file, &read.program, &words)?;
    let instructions = decode_program(&words)
        .map_err(|source| ArtifactError::Program { file: read.program.clone(), source })?;
    let data = match &read.data {
        Some(name) => {
            let data = files.read(&sibling(path, name)?)?;
            read.sha256.check(&file, name, &data)?;
            data
        }
        None => Vec::new(),
    };
    let constants = constants(read.constants, &data)
        .map_err(|reason| ArtifactError::Invalid { file: file.clone(), reason })?;
    let program = Program {
        name: read.name,
        instance: read.instance,
        config: read.config,
        instructions,
        constants,
        inputs: read.inputs,
        outputs: read.outputs,
        layers: read.layers,
    };
    check(&program).map_err(|reason| ArtifactError::Invalid { file, reason })?;
    Ok(program)
}

/// Takes the numbers of constants from the data file.
fn constants(stored: Vec<Stored>, data: &[u8]) -> Result<Vec<Constant>, String> {
    let total = stored.iter().try_fold(0_usize, |all, stored| all.checked_add(stored.numbers));
    if total.and_then(|total| total.checked_mul(NUMBER_BYTES)) != Some(data.len()) {
        let listed = total.map_or_else(|| "too many".to_owned(), |total| total.to_string());
        return Err(format!("its constants have {listed} numbers; the data file has {} bytes", data.len()));
    }
    let mut numbers = data.chunks_exact(NUMBER_BYTES).map(|bytes| i16::from_le_bytes([bytes[0], bytes[1]]));
    let constant = |Stored { name, address, numbers: count, saturated }: Stored| Constant {
        name,
        address,
        numbers: numbers.by_ref().take(count).collect(),
        saturated,
    };
    Ok(stored.into_iter().map(constant).collect())
}

/// Checks the invariants of a program from any source.
fn check(program: &Program) -> Result<(), String> {
    if !program.instructions.contains(&Op::End) {
        return Err(format!(
            "the program of {} instructions does not end with `end`",
            program.instructions.len()
        ));
    }
    let ports = program.inputs.iter().chain(&program.outputs);
    if let Some(port) = ports.into_iter().find(|port| !port.is_within(&program.config)) {
        return Err(format!("`{}` is not within the memory", port.name));
    }
    let words = program.config.memory_words as usize;
    let is_outside = |constant: &&Constant| {
        (constant.address as usize).checked_add(constant.numbers.len()).is_none_or(|end| end > words)
    };
    if let Some(constant) = program.constants.iter().find(is_outside) {
        return Err(format!("constant `{}` is not within the memory", constant.name));
    }
    let total = program.instructions.len();
    let is_beyond = |layer: &&Layer| layer.first.checked_add(layer.count).is_none_or(|end| end > total);
    if let Some(layer) = program.layers.iter().find(is_beyond) {
        return Err(format!("layer `{}` has instructions beyond the program of {total}", layer.name));
    }
    Ok(())
}
