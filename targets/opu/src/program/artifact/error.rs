//! Errors of artifacts: [`ArtifactError`].

use npukit_target::ReadError;

use crate::isa::codec::ProgramError;

/// Error of reading or writing the files of a program.
#[derive(Debug, thiserror::Error)]
pub enum ArtifactError {
    /// A file of the artifact cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The manifest is not TOML, or a key is missing, unknown or of the wrong type. The message
    /// shows the place.
    #[error("{file}: {message}")]
    Manifest {
        /// Name of the file.
        file: String,
        /// Description of the error.
        message: String,
    },
    /// A key's value contradicts others or is out of range.
    #[error("{file}: `{key}`: {reason}")]
    Invalid {
        /// Name of the file.
        file: String,
        /// Path of the key.
        key: String,
        /// Description of the error.
        reason: String,
    },
    /// Words cannot be executed, or instructions cannot be encoded.
    #[error("{file}: {source}")]
    Program {
        /// Name of the file.
        file: String,
        /// Index of the word or instruction, and the reason.
        source: ProgramError,
    },
    /// The number of words differs from the manifest.
    #[error("{file} has {actual} words, but the manifest specifies {expected}")]
    WordCount {
        /// Name of the file.
        file: String,
        /// Number of words in the manifest.
        expected: usize,
        /// Number of words in the file.
        actual: usize,
    },
    /// A segment is not inside its file.
    #[error("{file}: `segment[{segment}]`: {reason}")]
    Segment {
        /// Name of the manifest.
        file: String,
        /// Index of the segment in the list.
        segment: usize,
        /// Description of the error.
        reason: String,
    },
    /// Words and segments overlap or end beyond memory.
    #[error("{file}: {reason}")]
    Memory {
        /// Name of the manifest.
        file: String,
        /// Description of the error.
        reason: String,
    },
}
