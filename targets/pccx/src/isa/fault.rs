//! Faults of an instruction: [`FaultKind`]. Source: specification 4.8.

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::isa::op::{Cache, Shape};

/// Direction of transfers between L2 and the host.
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

/// Reason why an instruction cannot be executed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FaultKind {
    /// MEMCPY from the host to the host.
    #[error("MEMCPY from the host to the host: legal are host to l2, l2 to host, l2 to l2")]
    BadDirection,
    /// Words after the end of L2.
    #[error("`{field}`: {words} words at {address:#x} end beyond L2, which has {l2_words} words")]
    L2Range {
        /// Name of the operand with the address.
        field: &'static str,
        /// First L2 word of the access.
        address: u32,
        /// Number of L2 words of the access.
        words: u64,
        /// Size of L2 in words.
        l2_words: u32,
    },
    /// A constant entry has a zero where a size is required.
    #[error("`{field}`: entry {entry} of {} is {}, but its sizes must not be 0: write it with MEMSET first",
        .cache.name(), text(*.shape))]
    ShapeZero {
        /// Name of the operand that refers to the entry.
        field: &'static str,
        /// Constant bank that contains the entry.
        cache: Cache,
        /// Index of the entry, 0 to 63.
        entry: u8,
        /// Content of the entry.
        shape: Shape,
    },
    /// A transfer has too many values.
    #[error("`{field}`: entry {entry} is {}, {} values: legal are fewer than {SHAPE_LIMIT}", text(*.shape), .shape.product())]
    ShapeOverflow {
        /// Name of the operand that refers to the entry.
        field: &'static str,
        /// Index of the entry, 0 to 63.
        entry: u8,
        /// Content of the entry.
        shape: Shape,
    },
    /// Two entries do not match.
    #[error("fmap entry {} and weight entry {} do not fit: {reason}", text(*.fmap), text(*.weight))]
    ShapeMismatch {
        /// Content of the fmap entry, (M, 1, K).
        fmap: Shape,
        /// Content of the weight entry, (T, N, K).
        weight: Shape,
        /// Rule that the shapes violate.
        reason: &'static str,
    },
    /// The length of a CVO is 0.
    #[error("`length` of CVO is 0: legal are 1 to 65535")]
    LengthZero,
    /// No weights are left for a product.
    #[error(
        "no weights are left: {bound} are bound, and this is GEMV or GEMM number {number} of the program, starting at 0"
    )]
    NoWeight {
        /// Number of GEMVs and GEMMs executed before.
        number: usize,
        /// Number of weight matrices bound since the reset.
        bound: usize,
    },
    /// The size of the weights differs from the weight entry.
    #[error("the next weights are {image_n} x {image_k}, but weight entry {} specifies {} x {}", text(*.weight), .weight.y, .weight.z)]
    WeightMismatch {
        /// Rows of the weights.
        image_n: usize,
        /// Columns of the weights.
        image_k: usize,
        /// Content of the weight entry.
        weight: Shape,
    },
    /// `w_scale` with weights that have no scales.
    #[error("`w_scale`: the next weights have no scales")]
    NoScale,
    /// A transfer exceeds its host window, or the window does not exist.
    #[error("`aux_addr`: {words} units of 16 bytes at {address:#x} end beyond window {window} {direction}, which has {}",
        .window_units.map_or_else(|| "not been bound".to_owned(), |units| units.to_string()))]
    HostRange {
        /// Direction of the window.
        direction: Direction,
        /// Number of the window.
        window: u32,
        /// First 16-byte unit of the access.
        address: u32,
        /// Number of 16-byte units of the access.
        words: u64,
        /// Size of the window in units; `None` if it is not bound.
        window_units: Option<u64>,
    },
    /// The published circuits leave this operation undefined or unconnected.
    #[error("the published circuits do not define {what}: use an instance of the reference profile")]
    UpstreamUndefined {
        /// Description of the undefined operation.
        what: &'static str,
    },
}

/// Limit of the number of values in a transfer: its counter has 20 bits.
pub const SHAPE_LIMIT: u64 = 1 << 20;

impl FaultKind {
    /// Returns the name of the fault in specification 4.8.
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
