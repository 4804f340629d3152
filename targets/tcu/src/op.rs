//! Typed instructions. Sizes count vectors (the field in the word holds one less);
//! addresses count vectors; strides are exponents of two.

/// A strided run of vectors: element `i` is at `address + (i << stride_log2)`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Strided {
    /// First vector.
    pub address: u64,
    /// Distance of elements, as an exponent of two.
    pub stride_log2: u32,
}

/// What a DataMove connects; the codes are the flags field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DataMoveKind {
    /// 0x0
    Dram0ToLocal,
    /// 0x1
    LocalToDram0,
    /// 0x2
    Dram1ToLocal,
    /// 0x3
    LocalToDram1,
    /// 0xC
    AccumulatorToLocal,
    /// 0xD
    LocalToAccumulator,
    /// 0xF
    LocalToAccumulatorAccumulate,
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

/// The SIMD sub-instruction: `destination = op(left, right)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct SimdSub {
    /// Operation.
    pub op: SimdOp,
    /// 0 is the input, `k` is register `k`.
    pub left: u8,
    /// As `left`; ignored by unary operations.
    pub right: u8,
    /// 0 is the output only, `k` is register `k` and the output.
    pub destination: u8,
}

/// One instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Op {
    /// Does nothing.
    NoOp,
    /// Two-thread mode only: waits for thread `thread`.
    Wait {
        /// The thread waited for.
        thread: u64,
    },
    /// Multiplies `size` vectors of local memory (or zeros) by the loaded weights, into the accumulators.
    MatMul {
        /// Adds to the accumulators instead of overwriting.
        accumulate: bool,
        /// Takes zeros instead of local memory.
        zeroes: bool,
        /// Input.
        local: Strided,
        /// Output.
        accumulator: Strided,
        /// Vectors.
        size: u64,
    },
    /// Copies `size` vectors.
    DataMove {
        /// From where to where.
        kind: DataMoveKind,
        /// Address in local memory.
        local: Strided,
        /// Address in the accumulators or a DRAM.
        other: Strided,
        /// Vectors.
        size: u64,
    },
    /// Shifts `size` rows into the array, highest address first.
    LoadWeights {
        /// Shifts in zeros.
        zeroes: bool,
        /// Rows.
        local: Strided,
        /// Vectors.
        size: u64,
    },
    /// One vector through the ALUs.
    Simd {
        /// Takes the input from the accumulators at `read_address`.
        read: bool,
        /// Writes the output to the accumulators at `write_address`.
        write: bool,
        /// Adds to what is at `write_address`.
        accumulate: bool,
        /// Accumulator address.
        write_address: u64,
        /// Accumulator address.
        read_address: u64,
        /// Operation and registers.
        sub: SimdSub,
    },
    /// Extension: loads lookup table `table` from local memory.
    LoadLut {
        /// Keys and values.
        local: Strided,
        /// Table number.
        table: u64,
        /// Vectors.
        size: u64,
    },
    /// Writes a configuration register.
    Configure {
        /// Register number.
        register: u8,
        /// 28-bit value.
        value: u32,
    },
    /// An opcode or DataMove kind without meaning: hardware consumes it in one cycle without
    /// effect. Holds the whole word, little-endian.
    Unassigned {
        /// Opcode and flags.
        header: u8,
    },
}
