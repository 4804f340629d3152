//! Why a graph cannot be lowered.

use npukit_lower::{Problem, list};

/// Why [`compile`](super::compile) failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LowerError {
    /// Operators the machine cannot do; all of them.
    #[error("{} of the model's nodes cannot be lowered:{}", problems.len(), list(problems))]
    Unsupported {
        /// One entry per node.
        problems: Vec<Problem>,
    },
    /// Integers need fraction lengths.
    #[error(
        "the machine's features are {types}: say with --calibrate what typical inputs are, so that values get \
         fraction lengths, or choose a configuration of floats"
    )]
    NotQuantised {
        /// The element type.
        types: String,
    },
    /// Everything together is too large for the memory.
    #[error(
        "the program needs {needed} bytes of memory, {available} are there; use a smaller model or image"
    )]
    Memory {
        /// Bytes needed.
        needed: u64,
        /// Bytes there.
        available: u64,
    },
    /// A shift does not fit its field.
    #[error(
        "layer `{layer}` needs a shift of {shift}, legal is -128 to 127; its fraction lengths are too far apart"
    )]
    Shift {
        /// The layer.
        layer: String,
        /// The shift.
        shift: i64,
    },
    /// A layer has no tile that fits the buffers.
    #[error(
        "layer `{layer}` does not fit the buffers of 2048 pixels however it is tiled; use smaller windows"
    )]
    Tile {
        /// The layer.
        layer: String,
    },
}
