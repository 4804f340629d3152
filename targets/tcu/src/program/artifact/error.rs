//! [`ArtifactError`]: what is wrong with an artifact, where, and what is legal.

use npukit_target::ReadError;

use super::scalars::PartialScalar;
use crate::config::ConfigErrors;
use crate::config::keys::KeyError;
use crate::isa::codec::{DecodeErrors, EncodeErrors};

/// What is wrong with an artifact.
#[derive(Debug, thiserror::Error)]
pub enum ArtifactError {
    /// The text is not JSON.
    #[error("{file}: not JSON")]
    Json {
        /// File.
        file: String,
        /// Line and column.
        source: serde_json::Error,
    },
    /// A key is missing, of the wrong type or out of range.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// The architecture is nonsense.
    #[error("{file}: key `arch`")]
    Config {
        /// File.
        file: String,
        /// What is wrong with it.
        source: ConfigErrors,
    },
    /// A range of vectors passes the end of a memory.
    #[error(
        "{file}: key `{key}`: vectors {base} to {} do not fit {memory}, which holds {depth} (0 to {})",
        .base.saturating_add(.size.saturating_sub(1)), .depth.saturating_sub(1)
    )]
    Range {
        /// File.
        file: String,
        /// Path of the entry.
        key: String,
        /// First vector.
        base: u64,
        /// Vectors.
        size: u64,
        /// The memory's name.
        memory: &'static str,
        /// Vectors it holds.
        depth: u64,
    },
    /// A file is not as long as the manifest says.
    #[error("{file}: {actual} bytes instead of {expected} (key `{key}`: {reason})")]
    Length {
        /// File.
        file: String,
        /// Its length in bytes.
        actual: u64,
        /// The length expected.
        expected: u64,
        /// The key that says so.
        key: &'static str,
        /// How.
        reason: String,
    },
    /// Constants end inside a scalar.
    #[error("{file}")]
    Scalars {
        /// File.
        file: String,
        /// How many bytes are left over.
        source: PartialScalar,
    },
    /// A word of the program is not an instruction.
    #[error("{file}: not a program for this architecture")]
    Decode {
        /// File.
        file: String,
        /// Byte offset and reason.
        source: DecodeErrors,
    },
    /// An instruction does not fit its fields.
    #[error("{file}: cannot be encoded for this architecture")]
    Encode {
        /// File.
        file: String,
        /// Instruction and field.
        source: EncodeErrors,
    },
    /// A file named in the manifest cannot be had.
    #[error(transparent)]
    Read(#[from] ReadError),
}
