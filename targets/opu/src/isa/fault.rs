//! Faults that stop the machine: [`FaultKind`], the kinds of the specification's section 3.6 with
//! their causes.
//!
//! A fault is precise: the faulting instruction changes nothing, and all instructions before it are
//! done.

use thiserror::Error;

use crate::config::datatype::DataType;
use crate::config::{Types, Validity};
use crate::isa::op::Shape;

/// Buffer of the machine.
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
    /// Returns the buffer's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ifm => "ifm",
            Self::Ker => "ker",
            Self::Bias => "bias",
            Self::Ofm => "ofm",
        }
    }

    /// Returns the type of the buffer's elements.
    pub(crate) const fn data_type(self, types: &Types) -> DataType {
        match self {
            Self::Ifm => types.itype,
            Self::Ker => types.ktype,
            Self::Bias => types.btype,
            Self::Ofm => types.otype,
        }
    }

    /// Returns the hint how to make the buffer valid.
    pub(super) const fn remedy(self) -> &'static str {
        match self {
            Self::Ifm => "load it with `ld.ifm`",
            Self::Ker => "load it with `ld.ker`",
            Self::Bias => "load it with `ld.bias`",
            Self::Ofm => "start the sums with `conv` or `conv.bias`",
        }
    }
}

/// Reason why a buffer holds nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Invalid {
    /// Nothing was written since the reset.
    Never,
    /// The named instruction changed the buffer's shape.
    By(&'static str),
    /// The buffer has fewer values than channels, since the draft keeps biases when the shape
    /// changes.
    Short {
        /// Number of values in the buffer.
        held: u32,
        /// Number of values needed.
        needed: u32,
    },
}

/// Axis of a feature map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Axis {
    /// First axis.
    Row,
    /// Second axis.
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

/// Reason why an instruction cannot be executed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FaultKind {
    /// The opcode has no meaning.
    #[error("opcode {opcode} has no meaning")]
    ReservedOpcode {
        /// Opcode, bits 5 to 0 of the word.
        opcode: u32,
    },
    /// An operand has a value without meaning.
    #[error("`{field}` of `{instruction}` is {value}, which has no meaning")]
    OperandInvalid {
        /// Mnemonic of the instruction.
        instruction: &'static str,
        /// Name of the field.
        field: &'static str,
        /// Value of the field.
        value: u64,
    },
    /// `@shape.ifm` or `@shape.ofm` sets a shape that the buffer cannot have.
    #[error("{h} x {w} pixels of {c} channels are not a shape of the {buffer} buffer")]
    ShapeInvalid {
        /// Name of the buffer.
        buffer: &'static str,
        /// Number of rows.
        h: u32,
        /// Number of columns.
        w: u32,
        /// Number of channels.
        c: u128,
        /// Smallest legal number of channels.
        least: u32,
    },
    /// `@shape.ker` sets too many slices, or 0.
    #[error("the ker buffer cannot have {n} slices")]
    KerNInvalid {
        /// Number of slices.
        n: u32,
    },
    /// `@mem.ifm` or `@mem.ofm` sets a size of 0.
    #[error("{register} is 0")]
    MemInvalid {
        /// Name of the register.
        register: &'static str,
    },
    /// `@stride` sets a step of 0.
    #[error("a step of {h} rows and {w} columns is not legal")]
    StrideInvalid {
        /// Number of rows.
        h: u32,
        /// Number of columns.
        w: u32,
    },
    /// The fields of `@post` are not one of the eleven legal combinations.
    #[error("act {act}, order {order}, res {res} is not one of the eleven forms of `@post`")]
    PostInvalid {
        /// Field `act`.
        act: u32,
        /// Field `order`.
        order: u32,
        /// Field `res`.
        res: u32,
    },
    /// `@pool` sets a window size or step of 0.
    #[error("a pooling window of {h} x {w} with steps of {stride_h} and {stride_w} is not legal")]
    PoolInvalid {
        /// Rows of the window.
        h: u32,
        /// Columns of the window.
        w: u32,
        /// Rows between adjacent windows.
        stride_h: u32,
        /// Columns between adjacent windows.
        stride_w: u32,
    },
    /// A register is used that no instruction has set.
    #[error("register {register} is undefined")]
    UndefinedRegister {
        /// Name of the register.
        register: &'static str,
        /// Mnemonic of the instruction that sets it.
        set_by: &'static str,
    },
    /// A buffer is used that holds nothing.
    #[error("the {} buffer is not valid: {}", .buffer.name(), cause(.invalid))]
    BufferInvalid {
        /// Buffer that is used.
        buffer: Buffer,
        /// Reason why it is empty.
        invalid: Invalid,
    },
    /// The kernel is larger than the ker buffer.
    #[error("{n} slices of {ofm_c} x {ifm_c} channels do not fit the ker buffer, which holds {largest}")]
    KerCapacity {
        /// Number of slices.
        n: u32,
        /// Number of output channels.
        ofm_c: u32,
        /// Number of input channels.
        ifm_c: u32,
        /// Largest number of slices of these channels that fit.
        largest: u32,
    },
    /// A slice is outside the ker buffer.
    #[error("slice {n} does not exist: ker_n is {ker_n}")]
    KerIndex {
        /// Index of the slice.
        n: u32,
        /// Number of slices in the buffer.
        ker_n: u32,
    },
    /// A convolution reads outside the ifm buffer.
    #[error(
        "the last {} read is {first} + ({steps} - 1) * {stride} = {last}, and the ifm buffer has {size} ({})",
        .axis.name(), bounds_rule(*.axis, *.validity)
    )]
    ConvBounds {
        /// Axis on which it does so.
        axis: Axis,
        /// First index that is read.
        first: u32,
        /// Number of indices that are read.
        steps: u32,
        /// Step between indices.
        stride: u32,
        /// Last index that is read.
        last: u64,
        /// Size of the buffer along the axis.
        size: u32,
        /// Reading of the specification that has the violated rule.
        validity: Validity,
    },
    /// The draft's condition, as printed, does not allow a convolution.
    #[error(
        "{first} + {steps} * ({stride} - 1) = {}, which is not below the {size} {}s of the ifm buffer ({})",
        .first + .steps * (.stride - 1), .axis.name(), draft_rule(.instruction, *.axis)
    )]
    ConvDraft {
        /// The instruction.
        instruction: &'static str,
        /// Axis of the condition.
        axis: Axis,
        /// First index, as the condition uses it.
        first: u32,
        /// Number of results along the axis.
        steps: u32,
        /// Step between results.
        stride: u32,
        /// Size of the buffer along the axis.
        size: u32,
    },
    /// A pooling window is larger than the partial sums.
    #[error("a pooling window of {pool_h} x {pool_w} is larger than the partial sums {ofm}")]
    PoolBounds {
        /// Rows of the window.
        pool_h: u32,
        /// Columns of the window.
        pool_w: u32,
        /// Shape of the partial sums.
        ofm: Shape,
    },
    /// The residual is smaller than the values to which it is added.
    #[error("the ifm buffer {ifm} does not cover the {needed} values it is added to")]
    ResidualShape {
        /// Shape of the ifm buffer.
        ifm: Shape,
        /// Shape of the values to which it is added.
        needed: Shape,
    },
    /// The border is wider than the plane.
    #[error("a border of {p} slots is wider than the plane of {h} x {w}")]
    PadBounds {
        /// Slots on each side.
        p: u32,
        /// Rows of the plane.
        h: u32,
        /// Slots of a row.
        w: u32,
    },
    /// An access extends beyond the end of memory.
    #[error("bytes {first:#x} to {last:#x} end beyond the memory of 2^32 bytes")]
    AddressRange {
        /// Address of the first byte.
        first: u64,
        /// Address of the last byte.
        last: u64,
    },
    /// A byte of memory is read that was never written, and the machine checks for that.
    #[error("the byte for the {} buffer at {address:#x} was never written", .buffer.name())]
    Unwritten {
        /// Buffer that is loaded.
        buffer: Buffer,
        /// Address of the byte.
        address: u64,
    },
    /// A float in memory is an infinity or a NaN.
    #[error("element {element} for the {} buffer, at {address:#x}, has the bits {bits:#x}: not a finite number",
        .buffer.name())]
    NonFinite {
        /// The buffer that is loaded.
        buffer: Buffer,
        /// Index of the element in the buffer, row-major.
        element: usize,
        /// Address of the element.
        address: u64,
        /// Bits of the element.
        bits: u32,
    },
    /// The program has no `end`.
    #[error("the program of {words} words ends without `end`")]
    MissingEnd {
        /// Number of words of the program.
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

/// Returns the rule that a convolution violates when it reads outside the buffer.
fn bounds_rule(axis: Axis, validity: Validity) -> &'static str {
    match (validity, axis) {
        (Validity::Corrected, Axis::Row) => "corrected condition: h + (ofm_h - 1) * stride_h < ifm_h",
        (Validity::Corrected, Axis::Column) => "corrected condition: w + (ofm_w - 1) * stride_w < ifm_w",
        (Validity::Draft | Validity::Seed, _) => {
            "the draft's condition allows it, and its formula reads ifm[h + stride_h * i, w + stride_w * j, l]"
        }
    }
}

/// Returns the condition of the draft that does not allow a convolution.
fn draft_rule(instruction: &str, axis: Axis) -> &'static str {
    match (axis, instruction) {
        (Axis::Row, "conv.bias") => {
            "the draft's condition of `conv.bias`, 2.3.2: h + ofm_h * (stride_h - 1) < ifm_h"
        }
        (Axis::Row, _) => "the draft's condition of `conv`, 2.3.2: h + ofm_h * (stride_h - 1) < ifm_h",
        (Axis::Column, "conv.bias") => {
            "the draft's condition of `conv.bias`, 2.3.2: h + ofm_w * (stride_w - 1) < ifm_w, with h as printed there"
        }
        (Axis::Column, _) => "the draft's condition of `conv`, 2.3.2: w + ofm_w * (stride_w - 1) < ifm_w",
    }
}
