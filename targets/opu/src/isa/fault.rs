//! What stops the machine: [`FaultKind`], the kinds of the specification's section 3.6 with what caused them.
//!
//! A fault is precise: the instruction at fault changes nothing, and all before it are done.

use thiserror::Error;

use crate::config::datatype::DataType;
use crate::config::{Types, Validity};
use crate::isa::op::Shape;

/// A buffer of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Buffer {
    /// Input feature maps.
    Ifm,
    /// Kernels.
    Ker,
    /// Biases.
    Bias,
    /// Partial sums.
    Ofm,
}

impl Buffer {
    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ifm => "ifm",
            Self::Ker => "ker",
            Self::Bias => "bias",
            Self::Ofm => "ofm",
        }
    }

    /// The type of its elements.
    pub(crate) const fn data_type(self, types: &Types) -> DataType {
        match self {
            Self::Ifm => types.itype,
            Self::Ker => types.ktype,
            Self::Bias => types.btype,
            Self::Ofm => types.otype,
        }
    }

    /// What makes it valid.
    pub(super) const fn remedy(self) -> &'static str {
        match self {
            Self::Ifm => "load it with `ld.ifm`",
            Self::Ker => "load it with `ld.ker`",
            Self::Bias => "load it with `ld.bias`",
            Self::Ofm => "start the sums with `conv` or `conv.bias`",
        }
    }
}

/// Why a buffer holds nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Invalid {
    /// Nothing was written since the reset.
    Never,
    /// This instruction changed its shape.
    By(&'static str),
    /// It has fewer values than there are channels, as the draft keeps biases when the shape changes.
    Short {
        /// Values it has.
        held: u32,
        /// Values that are needed.
        needed: u32,
    },
}

/// An axis of a feature map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Axis {
    /// The first.
    Row,
    /// The second.
    Column,
}

impl Axis {
    const fn name(self) -> &'static str {
        match self {
            Self::Row => "row",
            Self::Column => "column",
        }
    }
}

/// Why an instruction cannot be executed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FaultKind {
    /// An opcode without meaning.
    #[error("opcode {opcode} has no meaning")]
    ReservedOpcode {
        /// Bits 5 to 0.
        opcode: u32,
    },
    /// An operand without meaning.
    #[error("`{field}` of `{instruction}` is {value}, which has no meaning")]
    OperandInvalid {
        /// The instruction.
        instruction: &'static str,
        /// The field.
        field: &'static str,
        /// Its value.
        value: u64,
    },
    /// `@shape.ifm` or `@shape.ofm` with a shape the buffer cannot have.
    #[error("{h} x {w} pixels of {c} channels are not a shape of the {buffer} buffer")]
    ShapeInvalid {
        /// Name of the buffer.
        buffer: &'static str,
        /// Rows.
        h: u32,
        /// Columns.
        w: u32,
        /// Channels.
        c: u128,
        /// The smallest legal number of channels.
        least: u32,
    },
    /// `@shape.ker` with too many slices, or none.
    #[error("the ker buffer cannot have {n} slices")]
    KerNInvalid {
        /// Slices.
        n: u32,
    },
    /// `@mem.ifm` or `@mem.ofm` with a size of 0.
    #[error("{register} is 0")]
    MemInvalid {
        /// Name of the register.
        register: &'static str,
    },
    /// `@stride` with a step of 0.
    #[error("a step of {h} rows and {w} columns")]
    StrideInvalid {
        /// Rows.
        h: u32,
        /// Columns.
        w: u32,
    },
    /// `@post` with fields that are none of the eleven forms.
    #[error("act {act}, order {order}, res {res} is none of the eleven forms of `@post`")]
    PostInvalid {
        /// Field `act`.
        act: u32,
        /// Field `order`.
        order: u32,
        /// Field `res`.
        res: u32,
    },
    /// `@pool` with a size or step of 0.
    #[error("a pooling window of {h} x {w} with steps of {stride_h} and {stride_w}")]
    PoolInvalid {
        /// Rows of the window.
        h: u32,
        /// Columns of the window.
        w: u32,
        /// Rows from window to window.
        stride_h: u32,
        /// Columns from window to window.
        stride_w: u32,
    },
    /// A register that no instruction has set.
    #[error("register {register} is undefined")]
    UndefinedRegister {
        /// Its name.
        register: &'static str,
        /// The instruction that sets it.
        set_by: &'static str,
    },
    /// A buffer that holds nothing.
    #[error("the {} buffer is not valid: {}", .buffer.name(), cause(.invalid))]
    BufferInvalid {
        /// The buffer.
        buffer: Buffer,
        /// Why.
        invalid: Invalid,
    },
    /// More kernel than the buffer holds.
    #[error("{n} slices of {ofm_c} x {ifm_c} channels do not fit the ker buffer, which holds {largest}")]
    KerCapacity {
        /// Slices.
        n: u32,
        /// Output channels.
        ofm_c: u32,
        /// Input channels.
        ifm_c: u32,
        /// Slices of that many channels that fit.
        largest: u32,
    },
    /// A slice beyond the ker buffer.
    #[error("there is no slice {n}: ker_n is {ker_n}")]
    KerIndex {
        /// Slice named.
        n: u32,
        /// Slices there are.
        ker_n: u32,
    },
    /// A convolution that reads beyond the ifm buffer.
    #[error(
        "the last {} read is {first} + ({steps} - 1) * {stride} = {last}, and the ifm buffer has {size} ({})",
        .axis.name(), bounds_rule(*.axis, *.validity)
    )]
    ConvBounds {
        /// Rows or columns.
        axis: Axis,
        /// The first one read.
        first: u32,
        /// How many are read.
        steps: u32,
        /// From one to the next.
        stride: u32,
        /// The last one read.
        last: u64,
        /// How many the buffer has.
        size: u32,
        /// Whose rule it breaks.
        validity: Validity,
    },
    /// A convolution that the draft's condition, as it is written, does not allow.
    #[error(
        "{first} + {steps} * ({stride} - 1) = {}, which is not below the {size} {}s of the ifm buffer ({})",
        .first + .steps * (.stride - 1), .axis.name(), draft_rule(.instruction, *.axis)
    )]
    ConvDraft {
        /// The instruction.
        instruction: &'static str,
        /// Rows or columns.
        axis: Axis,
        /// What the condition takes for the first one.
        first: u32,
        /// How many there are.
        steps: u32,
        /// From one to the next.
        stride: u32,
        /// How many the buffer has.
        size: u32,
    },
    /// A pooling window larger than the partial sums.
    #[error("a pooling window of {pool_h} x {pool_w} is larger than the partial sums {ofm}")]
    PoolBounds {
        /// Rows of the window.
        pool_h: u32,
        /// Columns of the window.
        pool_w: u32,
        /// Shape of the partial sums.
        ofm: Shape,
    },
    /// A residual smaller than what it is added to.
    #[error("the ifm buffer {ifm} does not cover the {needed} values it is added to")]
    ResidualShape {
        /// Shape of the ifm buffer.
        ifm: Shape,
        /// Shape of what it is added to.
        needed: Shape,
    },
    /// A border wider than the plane.
    #[error("a border of {p} slots is wider than the plane of {h} x {w}")]
    PadBounds {
        /// Slots on each side.
        p: u32,
        /// Rows of the plane.
        h: u32,
        /// Slots of a row.
        w: u32,
    },
    /// Bytes beyond the end of memory.
    #[error("bytes {first:#x} to {last:#x} end beyond the memory of 2^32 bytes")]
    AddressRange {
        /// The first byte.
        first: u64,
        /// The last byte.
        last: u64,
    },
    /// A byte of memory that was never written, where reading such a byte is to be a fault.
    #[error("the byte for the {} buffer at {address:#x} was never written", .buffer.name())]
    Unwritten {
        /// The buffer that is loaded.
        buffer: Buffer,
        /// Its address.
        address: u64,
    },
    /// An infinity or a NaN in memory.
    #[error("element {element} for the {} buffer, at {address:#x}, has the bits {bits:#x}: no finite number",
        .buffer.name())]
    NonFinite {
        /// The buffer that is loaded.
        buffer: Buffer,
        /// Position in the buffer, row-major.
        element: usize,
        /// Its address.
        address: u64,
        /// Its bits.
        bits: u32,
    },
    /// The program ended without `end`.
    #[error("the program of {words} words ends without `end`")]
    MissingEnd {
        /// Words there are.
        words: usize,
    },
}

fn cause(invalid: &Invalid) -> String {
    match invalid {
        Invalid::Never => "nothing was written to it".to_owned(),
        Invalid::By(mnemonic) => format!("`{mnemonic}` changed its shape"),
        Invalid::Short { held, needed } => format!("it has {held} values for {needed} channels"),
    }
}

/// The rule by which a convolution reads beyond the buffer.
fn bounds_rule(axis: Axis, validity: Validity) -> &'static str {
    match (validity, axis) {
        (Validity::Corrected, Axis::Row) => "corrected condition: h + (ofm_h - 1) * stride_h < ifm_h",
        (Validity::Corrected, Axis::Column) => "corrected condition: w + (ofm_w - 1) * stride_w < ifm_w",
        (Validity::Draft | Validity::Seed, _) => {
            "the draft's condition allows it, and its formula reads ifm[h + stride_h * i, w + stride_w * j, l]"
        }
    }
}

/// The line of the draft that does not allow a convolution.
fn draft_rule(instruction: &str, axis: Axis) -> &'static str {
    match (axis, instruction) {
        (Axis::Row, "conv.bias") => {
            "the draft's condition of `conv.bias`, 2.3.2: h + ofm_h * (stride_h - 1) < ifm_h"
        }
        (Axis::Row, _) => "the draft's condition of `conv`, 2.3.2: h + ofm_h * (stride_h - 1) < ifm_h",
        (Axis::Column, "conv.bias") => {
            "the draft's condition of `conv.bias`, 2.3.2: h + ofm_w * (stride_w - 1) < ifm_w, with h as it stands there"
        }
        (Axis::Column, _) => "the draft's condition of `conv`, 2.3.2: w + ofm_w * (stride_w - 1) < ifm_w",
    }
}
