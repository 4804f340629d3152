//! [`ArtifactError`]: the defect of an artifact, its location, and the legal values.

use npukit_target::ReadError;

use super::scalars::PartialScalar;
use crate::config::ConfigErrors;
use crate::config::json_fields::KeyError;
use crate::isa::codec::{DecodeErrors, EncodeErrors};

/// A fault of an artifact.
#[derive(Debug, thiserror::Error)]
pub enum ArtifactError {
    /// The text is not JSON.
    #[error("{file}: not JSON")]
    Json {
        /// Name of the file.
        file: String,
        /// Line, column and reason.
        source: serde_json::Error,
    },
    /// A key is missing, of the wrong type or out of range.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The architecture is invalid.
    #[error("{file}: key `arch`")]
    Config {
        /// Name of the file.
        file: String,
        /// Faults of the architecture.
        source: ConfigErrors,
    },
    /// A range of vectors exceeds a memory.
    #[error(
        "{file}: key `{key}`: vectors {base} to {} exceed {memory}, which has {depth} vectors (0 to {})",
        .base.saturating_add(.size.saturating_sub(1)), .depth.saturating_sub(1)
    )]
    Range {
        /// Name of the file.
        file: String,
        /// Path of the entry.
        key: String,
        /// Address of the first vector.
        base: u64,
        /// Number of vectors.
        size: u64,
        /// Name of the memory.
        memory: &'static str,
        /// Depth of the memory in vectors.
        depth: u64,
    },
    /// The length of a file differs from the manifest.
    #[error("{file}: {actual} bytes instead of {expected} (key `{key}`: {reason})")]
    Length {
        /// Name of the file.
        file: String,
        /// Length of the file in bytes.
        actual: u64,
        /// Expected length in bytes.
        expected: u64,
        /// Key that determines the expected length.
        key: &'static str,
        /// Derivation of the expected length.
        reason: String,
    },
    /// Constants end inside a scalar.
    #[error("{file}")]
    Scalars {
        /// Name of the file.
        file: String,
        /// Number of left-over bytes.
        source: PartialScalar,
    },
    /// A word of the program is not an instruction.
    #[error("{file}: not a program for this architecture")]
    Decode {
        /// Name of the file.
        file: String,
        /// Byte offset and reason.
        source: DecodeErrors,
    },
    /// An instruction does not fit its fields.
    #[error("{file}: cannot be encoded for this architecture")]
    Encode {
        /// Name of the file.
        file: String,
        /// Faulty instruction and field.
        source: EncodeErrors,
    },
    /// A file named in the manifest cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
}
