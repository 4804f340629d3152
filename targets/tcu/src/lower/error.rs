//! Why a graph cannot be lowered.

use npukit_lower::{Problem, list};

use crate::clock::hazard::Hazard;

/// A memory of the accelerator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Memory {
    /// Variables, inputs and outputs.
    Dram0,
    /// Local memory.
    Local,
    /// Accumulators.
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

/// Why [`compile`](super::compile) failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LowerError {
    /// Operators the array cannot do; all of them.
    #[error("{} of the model's nodes cannot be lowered:{}", problems.len(), list(problems))]
    Unsupported {
        /// One entry per node.
        problems: Vec<Problem>,
    },
    /// The constants of all layers together are more than DRAM1 holds.
    #[error(
        "the constants do not fit DRAM1: they need {needed} vectors, {available} are there; \
         choose an instance with more: a `dram1_depth` of {} is enough",
        enough(*needed)
    )]
    Constants {
        /// Vectors needed.
        needed: u64,
        /// Vectors there.
        available: u64,
    },
    /// A layer does not fit a memory however it is tiled.
    #[error(
        "layer `{layer}` does not fit {memory}: it needs {needed} vectors, {available} are there; \
         choose an instance with more, or another --strategy"
    )]
    Insufficient {
        /// The layer.
        layer: String,
        /// The memory.
        memory: Memory,
        /// Vectors needed at least.
        needed: u64,
        /// Vectors there.
        available: u64,
    },
    /// Instructions were written that hardware computes otherwise: a defect of this compiler.
    #[error("layer `{layer}`: instruction {}: {hazard}; this is a defect of the compiler, please report it", hazard.second)]
    LostAddition {
        /// The layer.
        layer: String,
        /// What would be lost.
        hazard: Hazard,
    },
}

/// The depth of a memory that holds `vectors`: a power of two, so that addresses reach all of it and no more.
fn enough(vectors: u64) -> u64 {
    // Default: what no power of two holds, no depth does.
    vectors.checked_next_power_of_two().unwrap_or(vectors)
}
