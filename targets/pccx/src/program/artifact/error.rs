//! Why bytes are not a program container, or a program has none: [`ArtifactError`].

use thiserror::Error;

use crate::isa::codec::{DecodeErrors, EncodeErrors};
use crate::machine::weights::WeightError;
use crate::program::ProgramError;

/// Why a container cannot be read or written. Offsets count from the start of the file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ArtifactError {
    /// Not this format.
    #[error("byte {offset:#x}: {what}")]
    Malformed {
        /// Where.
        offset: usize,
        /// What is wrong, and what is legal.
        what: String,
    },
    /// A part that ends beyond what holds it.
    #[error("byte {offset:#x}: {have} bytes are left of {what}, which takes {need}")]
    Short {
        /// Where the part begins.
        offset: usize,
        /// Which part.
        what: &'static str,
        /// Bytes present.
        have: usize,
        /// Bytes needed.
        need: u64,
    },
    /// Words that are not instructions.
    #[error("section CODE at byte {offset:#x}: {errors}")]
    Code {
        /// Where the section begins.
        offset: usize,
        /// Which words.
        errors: DecodeErrors,
    },
    /// Weights that are none; offsets count from the start of the file too.
    #[error("weight image {image}: {error}")]
    Weights {
        /// Which one.
        image: usize,
        /// What is wrong.
        error: WeightError,
    },
    /// Parts that do not go together.
    #[error("{0}")]
    Program(#[from] ProgramError),
    /// Instructions without an encoding.
    #[error("{0}")]
    Encode(#[from] EncodeErrors),
    /// More than offsets of 32 bits reach.
    #[error("the program has {bytes} bytes: a container holds at most {}", u32::MAX)]
    TooLarge {
        /// Its size.
        bytes: u64,
    },
}
