//! What can be wrong with an artifact: [`ArtifactError`].

use npukit_target::ReadError;

use crate::isa::codec::ProgramError;

/// Why files are not a program, or a program has no files.
#[derive(Debug, thiserror::Error)]
pub enum ArtifactError {
    /// A file of the artifact cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The manifest is not TOML, or a key is missing, unknown or of the wrong type; the message shows the
    /// place.
    #[error("{file}: {message}")]
    Manifest {
        /// The file.
        file: String,
        /// What is wrong.
        message: String,
    },
    /// A key's value contradicts others or is out of range.
    #[error("{file}: `{key}`: {reason}")]
    Invalid {
        /// The file.
        file: String,
        /// Path of the key.
        key: String,
        /// What is wrong.
        reason: String,
    },
    /// Words that cannot be executed, or instructions without words.
    #[error("{file}: {source}")]
    Program {
        /// The file.
        file: String,
        /// Which one, and why.
        source: ProgramError,
    },
    /// More or fewer words than the manifest says.
    #[error("{file} has {actual} words, the manifest says {expected}")]
    WordCount {
        /// The file.
        file: String,
        /// By the manifest.
        expected: usize,
        /// In the file.
        actual: usize,
    },
    /// A segment that is not in its file.
    #[error("{file}: `segment[{segment}]`: {reason}")]
    Segment {
        /// The manifest.
        file: String,
        /// Position in the list.
        segment: usize,
        /// What is wrong.
        reason: String,
    },
    /// Words and segments overlap or end beyond memory.
    #[error("{file}: {reason}")]
    Memory {
        /// The manifest.
        file: String,
        /// What is wrong.
        reason: String,
    },
}
