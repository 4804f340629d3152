//! Reasons why a graph cannot be lowered.

use npukit_lower::{Problem, list};

use crate::clock::hazard::Hazard;

/// Memory of the accelerator that can be too small for a model.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// DRAM bank 0: variables, inputs and outputs.
    Dram0,
    /// Local memory.
    Local,
    /// Accumulator memory.
    Accumulators,
}

impl std::fmt::Display for Memory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Dram0 => "DRAM0",
            Self::Local => "local memory",
            Self::Accumulators => "accumulators",
        })
    }
}

/// Error of [`compile`](super::compile).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LowerError {
    /// Every node that the array cannot compute.
    #[error("{} of the model's nodes cannot be lowered:{}", problems.len(), list(problems))]
    Unsupported {
        /// One problem per node.
        problems: Vec<Problem>,
    },
    /// The constants of all layers together exceed DRAM1.
    #[error(
        "the constants do not fit in DRAM1: they need {needed} vectors, but it holds {available}; \
         use an instance with a `dram1_depth` of at least {}",
        enough(*needed)
    )]
    Constants {
        /// Number of vectors needed.
        needed: u64,
        /// Number of vectors available.
        available: u64,
    },
    /// A layer does not fit in a memory with any tiling.
    #[error(
        "layer `{layer}` does not fit in {memory}: it needs {needed} vectors, but {available} are available; \
         use an instance with more of it, or another --strategy"
    )]
    Insufficient {
        /// Name of the layer.
        layer: String,
        /// Memory that is too small.
        memory: Memory,
        /// Least number of vectors needed.
        needed: u64,
        /// Number of vectors available.
        available: u64,
    },
    /// The generated instructions contain a hazard that changes the result in hardware: a compiler
    /// defect.
    #[error("layer `{layer}`: instruction {}: {hazard}; this is a defect of the compiler, please report it", hazard.second)]
    LostAddition {
        /// Name of the layer.
        layer: String,
        /// Pair of accumulator writes; the first one would be lost.
        hazard: Hazard,
    },
}

/// Returns the smallest legal depth of a memory that holds `vectors`: a power of two, so that every
/// address is used.
fn enough(vectors: u64) -> u64 {
    // Default: a value above every power of two has no legal depth and is returned as it is.
    vectors.checked_next_power_of_two().unwrap_or(vectors)
}
