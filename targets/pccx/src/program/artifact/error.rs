//! Errors of reading and writing program containers: [`ArtifactError`].

use thiserror::Error;

use crate::isa::codec::{DecodeErrors, EncodeErrors};
use crate::machine::weights::WeightError;
use crate::program::ProgramError;

/// Reason why a container cannot be read or written. Offsets are relative to the start of the file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ArtifactError {
    /// The bytes do not follow the format.
    #[error("byte {offset:#x}: {what}")]
    Malformed {
        /// Offset of the error in the file.
        offset: usize,
        /// Error and legal values.
        what: String,
    },
    /// A part exceeds its container.
    #[error("byte {offset:#x}: {what} needs {need} bytes, but only {have} are left")]
    Short {
        /// Offset of the incomplete part.
        offset: usize,
        /// Name of the incomplete part.
        what: &'static str,
        /// Number of bytes left in the file.
        have: usize,
        /// Number of bytes that the part needs.
        need: u64,
    },
    /// Words that are not instructions.
    #[error("section CODE at byte {offset:#x}: {errors}")]
    Code {
        /// Offset of the section in the file.
        offset: usize,
        /// Errors of the section's words.
        errors: DecodeErrors,
    },
    /// An invalid weight image; its offsets are relative to the start of the file, too.
    #[error("weight image {image}: {error}")]
    Weights {
        /// Index of the image.
        image: usize,
        /// Error in the image.
        error: WeightError,
    },
    /// Inconsistent parts of a program.
    #[error("{0}")]
    Program(#[from] ProgramError),
    /// Instructions that cannot be encoded.
    #[error("{0}")]
    Encode(#[from] EncodeErrors),
    /// The program exceeds the range of 32-bit offsets.
    #[error("the program has {bytes} bytes: a container holds at most {}", u32::MAX)]
    TooLarge {
        /// Size of the program in bytes.
        bytes: u64,
    },
}
