//! [`HandError`]: what only programs of a person have wrong with them.

use npukit_base::codes;
use npukit_target::{Diagnose, failure};
use thiserror::Error;

use crate::check::Unfenced;
use crate::host::by_hand::{MOST_HOST_BYTES, bank};
use crate::isa::op::Cache;

/// Why a program that a person wrote does not go on.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum HandError {
    /// An instruction uses what an asynchronous one still reads or writes.
    #[error("{order}, as `.wait` lets it{}", .place.as_ref().map_or_else(String::new, |place| format!("; instruction {} is at {place}", .order.earlier)))]
    Order {
        /// The two instructions and their words.
        order: Unfenced,
        /// File and line of the earlier one.
        place: Option<String>,
    },
    /// A product without weights.
    #[error(
        "no weights are bound to this product, number {number}: `weights.{number}` has {n} rows of {k} to fill"
    )]
    NoWeights {
        /// GEMVs and GEMMs before it.
        number: usize,
        /// Rows.
        n: usize,
        /// Columns.
        k: usize,
    },
    /// More than the host's memory is taken to be.
    #[error("windows and weights have {bytes} bytes: a program in text or words may have {MOST_HOST_BYTES}")]
    HostMemory {
        /// Bytes.
        bytes: u64,
    },
    /// A constant bank, filled from outside.
    #[error("entries of `{}` are written by MEMSET alone", bank(*.cache))]
    Constants {
        /// The bank.
        cache: Cache,
    },
    /// Weights of a program with its host.
    #[error("weights and their scales are the host's, and not in the machine's memory")]
    OfHost,
}

impl HandError {
    /// Refuses more bytes than the host is taken to have.
    pub fn check(bytes: u64) -> Result<(), Self> {
        if bytes <= MOST_HOST_BYTES { Ok(()) } else { Err(Self::HostMemory { bytes }) }
    }
}

codes!(HandError: failure::RUN);

impl Diagnose for HandError {}
