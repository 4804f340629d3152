//! [`AsmRunError`]: errors that occur only in assembly programs.

use npukit_base::codes;
use npukit_target::{Diagnose, failure};
use thiserror::Error;

use crate::check::Unfenced;
use crate::host::asm_run::{MAX_HOST_BYTES, bank};
use crate::isa::op::Cache;

/// Reason why an assembly program cannot continue.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AsmRunError {
    /// An instruction uses words that an asynchronous one still reads or writes.
    #[error("{order}, with `.wait`{}", .place.as_ref().map_or_else(String::new, |place| format!("; instruction {} is at {place}", .order.earlier)))]
    Order {
        /// The two instructions and their words.
        order: Unfenced,
        /// File and line of the earlier instruction.
        place: Option<String>,
    },
    /// A product has no weights.
    #[error(
        "no weights are bound to this product, number {number}: `weights.{number}` has {n} rows of {k} to fill"
    )]
    NoWeights {
        /// Number of GEMVs and GEMMs before it.
        number: usize,
        /// Number of rows of the missing weights.
        n: usize,
        /// Number of columns of the missing weights.
        k: usize,
    },
    /// Windows and weights exceed host memory.
    #[error("windows and weights have {bytes} bytes: a program in text or words may have {MAX_HOST_BYTES}")]
    HostMemory {
        /// Total size of windows and weights in bytes.
        bytes: u64,
    },
    /// A constant bank cannot be filled from outside.
    #[error("entries of `{}` are written only by MEMSET", bank(*.cache))]
    Constants {
        /// Constant bank that was to be filled.
        cache: Cache,
    },
    /// Weights of a compiled program are not in the machine's memory.
    #[error("weights and their scales are in host memory, not in the machine's memory")]
    OfHost,
}

impl AsmRunError {
    /// Checks that windows and weights fit into host memory.
    pub fn check(bytes: u64) -> Result<(), Self> {
        if bytes <= MAX_HOST_BYTES { Ok(()) } else { Err(Self::HostMemory { bytes }) }
    }
}

codes!(AsmRunError: failure::RUN);

impl Diagnose for AsmRunError {}
