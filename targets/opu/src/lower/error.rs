//! Reasons why a graph cannot be lowered.

use npukit_lower::{Problem, list};

/// Error of [`compile`](super::compile).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LowerError {
    /// The machine does not support some operators; lists all of them.
    #[error("{} of the model's nodes cannot be lowered:{}", problems.len(), list(problems))]
    Unsupported {
        /// Problems, one per node.
        problems: Vec<Problem>,
    },
    /// Integer features need fraction lengths.
    #[error(
        "the machine's features are {types}: give typical inputs with --calibrate, from which values get \
         fraction lengths, or choose an instance with float types"
    )]
    NotQuantized {
        /// Name of the element type.
        types: String,
    },
    /// The program is too large for the memory.
    #[error(
        "the program needs {needed} bytes of memory, but {available} are available; use a smaller model or image"
    )]
    Memory {
        /// Number of bytes needed.
        needed: u64,
        /// Number of bytes available.
        available: u64,
    },
    /// A shift does not fit its field.
    #[error(
        "layer `{layer}` needs a shift of {shift}, but legal are -128 to 127; its fraction lengths are too far apart"
    )]
    Shift {
        /// Name of the layer.
        layer: String,
        /// Shift that is needed.
        shift: i64,
    },
    /// No tile of a layer fits the buffers.
    #[error("layer `{layer}` does not fit the buffers of 2048 pixels in any tiling; use smaller windows")]
    Tile {
        /// Name of the layer.
        layer: String,
    },
}
