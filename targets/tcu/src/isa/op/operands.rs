//! Operand types: strided addresses, kinds of DataMove, the SIMD sub-instruction.

use std::ops::Range;

use npukit_isa::codes;

use crate::config::Reading;
use crate::isa::op::Memory;

/// A strided run of vectors: element `i` is at `address + (i << stride_log2)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Strided {
    /// Address of the first vector.
    pub address: u64,
    /// Distance of elements, as an exponent of two.
    pub stride_log2: u32,
}

impl Strided {
    /// Returns the address of vector `i`; the whole run must be in range.
    pub(crate) fn at(self, i: u64) -> u64 {
        if i == 0 { self.address } else { self.address + (i << self.stride_log2) }
    }

    /// Returns the address of vector `i` of a run that may exceed the memory.
    pub(crate) fn wrapping_at(self, i: u64) -> u64 {
        // Default: a stride of 2^64 vectors or more shifts every bit of the index out.
        self.address.wrapping_add(i.checked_shl(self.stride_log2).unwrap_or(0))
    }

    /// Returns the run starting at vector `i`.
    pub(crate) fn from(self, i: u64) -> Self {
        Self { address: self.at(i), ..self }
    }

    /// Returns the addresses of the first `size` vectors; the whole run must be in range.
    pub(crate) fn addresses(self, size: u64) -> impl Iterator<Item = u64> {
        (0..size).map(move |i| self.at(i))
    }

    /// Returns the range from the first of `size` vectors to the last, including the addresses in
    /// between.
    pub(crate) fn span(self, size: u64) -> Range<u64> {
        self.address..self.at(size.saturating_sub(1)) + 1
    }
}

/// Direction of a DataMove; the codes are the values of the flags field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DataMoveKind {
    /// From DRAM0 to local memory, code 0x0.
    Dram0ToLocal,
    /// From local memory to DRAM0, code 0x1.
    LocalToDram0,
    /// From DRAM1 to local memory, code 0x2.
    Dram1ToLocal,
    /// From local memory to DRAM1, code 0x3.
    LocalToDram1,
    /// From the accumulators to local memory, code 0xC.
    AccumulatorToLocal,
    /// From local memory to the accumulators, code 0xD.
    LocalToAccumulator,
    /// From local memory, added to the accumulators, code 0xF.
    LocalToAccumulatorAccumulate,
}

impl DataMoveKind {
    /// Every kind with a meaning, by code.
    pub const ALL: [Self; 7] = [
        Self::Dram0ToLocal,
        Self::LocalToDram0,
        Self::Dram1ToLocal,
        Self::LocalToDram1,
        Self::AccumulatorToLocal,
        Self::LocalToAccumulator,
        Self::LocalToAccumulatorAccumulate,
    ];

    /// Returns the memory at the other end of the move.
    pub const fn memory(self) -> Memory {
        match self {
            Self::Dram0ToLocal | Self::LocalToDram0 => Memory::Dram0,
            Self::Dram1ToLocal | Self::LocalToDram1 => Memory::Dram1,
            Self::AccumulatorToLocal | Self::LocalToAccumulator | Self::LocalToAccumulatorAccumulate => {
                Memory::Accumulators
            }
        }
    }

    /// Returns whether local memory is written.
    pub const fn is_to_local(self) -> bool {
        matches!(self, Self::Dram0ToLocal | Self::Dram1ToLocal | Self::AccumulatorToLocal)
    }
}

/// SIMD operations; the discriminant is the code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
#[allow(missing_docs, reason = "the names are the instruction set's own; `exec` documents each")]
pub enum SimdOp {
    NoOp = 0,
    Zero,
    Move,
    Not,
    And,
    Or,
    Increment,
    Decrement,
    Add,
    Subtract,
    Multiply,
    Abs,
    GreaterThan,
    GreaterThanEqual,
    Min,
    Max,
    /// Extension, only with lookup tables.
    Lookup,
}

impl SimdOp {
    /// Every operation, by code; the last one is the extension's.
    pub const ALL: [Self; 17] = [
        Self::NoOp,
        Self::Zero,
        Self::Move,
        Self::Not,
        Self::And,
        Self::Or,
        Self::Increment,
        Self::Decrement,
        Self::Add,
        Self::Subtract,
        Self::Multiply,
        Self::Abs,
        Self::GreaterThan,
        Self::GreaterThanEqual,
        Self::Min,
        Self::Max,
        Self::Lookup,
    ];

    /// Returns the code in the operation field.
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// Returns the instruction set's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::NoOp => "NoOp",
            Self::Zero => "Zero",
            Self::Move => "Move",
            Self::Not => "Not",
            Self::And => "And",
            Self::Or => "Or",
            Self::Increment => "Increment",
            Self::Decrement => "Decrement",
            Self::Add => "Add",
            Self::Subtract => "Subtract",
            Self::Multiply => "Multiply",
            Self::Abs => "Abs",
            Self::GreaterThan => "GreaterThan",
            Self::GreaterThanEqual => "GreaterThanEqual",
            Self::Min => "Min",
            Self::Max => "Max",
            Self::Lookup => "Lookup",
        }
    }

    /// Returns the result in terms of the sources, in one line.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::NoOp => "no result",
            Self::Zero => "0",
            Self::Move => "left",
            Self::Not => "1 if left is 0, otherwise 0",
            Self::And => "1 if neither left nor right is 0, otherwise 0",
            Self::Or => "1 if left or right is not 0, otherwise 0",
            Self::Increment => "left + 1",
            Self::Decrement => "left - 1",
            Self::Add => "left + right",
            Self::Subtract => "left - right",
            Self::Multiply => "left * right",
            Self::Abs => "|left|",
            Self::GreaterThan => "1 if left > right, otherwise 0",
            Self::GreaterThanEqual => "1 if left >= right, otherwise 0",
            Self::Min => "the smaller of left and right",
            Self::Max => "the larger of left and right",
            Self::Lookup => "entries of the tables at left",
        }
    }

    /// Returns codes and meanings of all operations.
    pub fn meanings() -> [(u64, &'static str); Self::ALL.len()] {
        Self::ALL.map(|op| (op.code().into(), op.meaning()))
    }

    /// Returns the number of sources on which the result depends: 0 (NoOp, Zero), 1 (`left`) or 2.
    pub const fn arity(self) -> usize {
        match self {
            Self::NoOp | Self::Zero => 0,
            Self::Move | Self::Not | Self::Increment | Self::Decrement | Self::Abs | Self::Lookup => 1,
            _ => 2,
        }
    }
}

codes!(SimdOp, Self::ALL);

/// The SIMD sub-instruction: `destination = op(left, right)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SimdSub {
    /// Operation of the ALUs.
    pub op: SimdOp,
    /// Left source: 0 is the input, `k` is register `k`.
    pub left: u8,
    /// Right source, coded like `left`; ignored by unary operations.
    pub right: u8,
    /// Destination: 0 is the output only, `k` is register `k` and the output.
    pub destination: u8,
}

impl SimdSub {
    /// Returns whether a used source is the input. The released hardware also waits for the right
    /// source of an operation with one source, since its test for such operations is never true. By
    /// the instruction set specification that source is ignored.
    pub const fn takes_input(self, reading: Reading) -> bool {
        let right_counts = match reading {
            Reading::Released => self.op.arity() > 0,
            Reading::Seed => self.op.arity() > 1,
        };
        (self.op.arity() > 0 && self.left == 0) || (right_counts && self.right == 0)
    }
}
