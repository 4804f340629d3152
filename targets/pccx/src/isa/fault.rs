//! What an instruction can have wrong with it: [`FaultKind`]. Source: specification 4.8.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::isa::op::{Cache, Shape};

/// A side of the transfers between L2 and the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Direction {
    /// The host writes, L2 reads.
    HostToL2,
    /// L2 writes, the host reads.
    L2ToHost,
}

impl std::fmt::Display for Direction {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::HostToL2 => "from the host to L2",
            Self::L2ToHost => "from L2 to the host",
        })
    }
}

/// Why an instruction cannot be executed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FaultKind {
    /// MEMCPY from the host to the host.
    #[error("MEMCPY from the host to the host: legal are host to l2, l2 to host, l2 to l2")]
    BadDirection,
    /// Words beyond the end of L2.
    #[error("`{field}`: {words} words from {address:#x} on end beyond L2, which has {l2_words}")]
    L2Range {
        /// The operand.
        field: &'static str,
        /// First word.
        address: u32,
        /// Words.
        words: u64,
        /// Words of L2.
        l2_words: u32,
    },
    /// A constant entry with a zero in a place that must have a size.
    #[error("`{field}`: entry {entry} of {} is {}, and none of its sizes may be 0: write it by MEMSET first",
        .cache.name(), text(*.shape))]
    ShapeZero {
        /// The operand.
        field: &'static str,
        /// Of which bank.
        cache: Cache,
        /// Which entry.
        entry: u8,
        /// What it holds.
        shape: Shape,
    },
    /// More values than a transfer counts.
    #[error("`{field}`: entry {entry} is {}, {} values: legal are fewer than {SHAPE_LIMIT}", text(*.shape), .shape.product())]
    ShapeOverflow {
        /// The operand.
        field: &'static str,
        /// Which entry.
        entry: u8,
        /// What it holds.
        shape: Shape,
    },
    /// Entries that do not go together.
    #[error("fmap entry {} and weight entry {} do not fit: {reason}", text(*.fmap), text(*.weight))]
    ShapeMismatch {
        /// (M, 1, K).
        fmap: Shape,
        /// (T, N, K).
        weight: Shape,
        /// What should be.
        reason: &'static str,
    },
    /// CVO of no elements.
    #[error("`length` of CVO is 0: legal are 1 to 65535")]
    LengthZero,
    /// The list of weights is at its end.
    #[error(
        "no weights are bound: GEMV and GEMM number {number} of the program finds the list of {bound} at its end"
    )]
    NoWeight {
        /// GEMV and GEMM executed before.
        number: usize,
        /// Images bound since the reset.
        bound: usize,
    },
    /// Weights of another size.
    #[error("the next weights are {image_n} x {image_k}, and weight entry {} says {} x {}", text(*.weight), .weight.y, .weight.z)]
    WeightMismatch {
        /// Rows of the image.
        image_n: usize,
        /// Columns of the image.
        image_k: usize,
        /// The entry.
        weight: Shape,
    },
    /// `w_scale` of weights without scales.
    #[error("`w_scale`: the next weights have no scales")]
    NoScale,
    /// A place beyond a host window, or a window that is not there.
    #[error("`aux_addr`: {words} units of 16 bytes from {address:#x} on end beyond window {window} {direction}, which has {}",
        .window_units.map_or_else(|| "not been bound".to_owned(), |units| units.to_string()))]
    HostRange {
        /// Which side.
        direction: Direction,
        /// Number of the window.
        window: u32,
        /// First unit.
        address: u32,
        /// Units.
        words: u64,
        /// Units of the window; none when it is not bound.
        window_units: Option<u64>,
    },
    /// What the published circuits leave undefined or unconnected.
    #[error("the published circuits do not define {what}: use an instance of the reference profile")]
    UpstreamUndefined {
        /// What.
        what: &'static str,
    },
}

/// Values that a transfer counts: its counter has 20 bits.
pub const SHAPE_LIMIT: u64 = 1 << 20;

impl FaultKind {
    /// The document's name of the error.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::BadDirection => "bad_direction",
            Self::L2Range { .. } => "l2_range",
            Self::ShapeZero { .. } => "shape_zero",
            Self::ShapeOverflow { .. } => "shape_overflow",
            Self::ShapeMismatch { .. } => "shape_mismatch",
            Self::LengthZero => "length_zero",
            Self::NoWeight { .. } => "no_weight",
            Self::WeightMismatch { .. } => "weight_mismatch",
            Self::NoScale => "no_scale",
            Self::HostRange { .. } => "host_range",
            Self::UpstreamUndefined { .. } => "upstream_undefined",
        }
    }
}

fn text(Shape { x, y, z }: Shape) -> String {
    format!("({x}, {y}, {z})")
}
