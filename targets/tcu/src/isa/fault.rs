//! [`FaultKind`]: faults of an instruction.

use thiserror::Error;

use crate::isa::op::{Memory, SimdOp};

/// Why an instruction cannot be executed. Hardware would hang or have undefined behavior.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FaultKind {
    /// A strided run exceeds a memory.
    #[error(
        "{size} vectors starting at {address}, {step} apart, exceed the {memory}, which has {depth} vectors",
        step = step(.stride_log2)
    )]
    OutOfRange {
        /// Name of the memory.
        memory: Memory,
        /// Address of the first vector.
        address: u64,
        /// Distance of vectors, as an exponent of two.
        stride_log2: u32,
        /// Number of vectors.
        size: u64,
        /// Depth of the memory in vectors.
        depth: u64,
    },
    /// A size of 0 vectors, which an instruction word cannot represent.
    #[error("a size of 0 vectors")]
    SizeZero,
    /// The read flag is set, but neither source is the input: the value that was read is never
    /// taken.
    #[error("SIMD {op:?} has the read flag, but neither source is the input: the hardware hangs")]
    ReadUnused {
        /// SIMD operation.
        op: SimdOp,
    },
    /// A source is the input, but the read flag is missing: no value arrives.
    #[error(
        "SIMD {op:?} takes the input (left {left}, right {right}) without the read flag: nothing arrives, and the hardware hangs"
    )]
    InputMissing {
        /// SIMD operation.
        op: SimdOp,
        /// Left source.
        left: u8,
        /// Right source; the hardware waits for it even if the operation ignores it.
        right: u8,
    },
    /// With poisoned memory: the output of an array that has not computed anything yet.
    #[error("takes the output of the array, which has not computed anything yet")]
    OutputUnset,
    /// SIMD NoOp with the read or write flag, which waits for data that never arrives.
    #[error("SIMD NoOp has the read or write flag: the hardware hangs")]
    NoOpMoves,
    /// A register that the instance does not have.
    #[error("SIMD register {register} does not exist: the instance has {depth} registers")]
    NoRegister {
        /// Register of the instruction.
        register: u64,
        /// Number of registers.
        depth: usize,
    },
    /// An opcode or DataMove kind without meaning.
    #[error("opcode {:#x} with flags {:#x} has no meaning", header >> 4, header & 0xF)]
    Unassigned {
        /// Opcode and flags.
        header: u8,
    },
    /// LoadLUT or Lookup on an instance without lookup tables.
    #[error("lookup on an instance without lookup tables")]
    NoLookup,
    /// A lookup table that the instance does not have.
    #[error("lookup table {table} does not exist: table 0 is the index, 1 to {tables} are values")]
    NoTable {
        /// Table of the instruction.
        table: u64,
        /// Number of value tables.
        tables: usize,
    },
    /// A Lookup before its index was loaded.
    #[error("Lookup before the index (table 0) was loaded")]
    IndexEmpty,
    /// The closest key's entry is beyond the loaded part of a value table.
    #[error("Lookup needs entry {entry} of table {table}, but only {entries} entries are loaded")]
    EntryMissing {
        /// Value table, starting at 1.
        table: usize,
        /// Entry of the closest key.
        entry: usize,
        /// Number of loaded entries.
        entries: usize,
    },
    /// With poisoned memory: a vector that was never written.
    #[error("reads vector {address} of the {memory}, which was never written")]
    Unset {
        /// Name of the memory.
        memory: Memory,
        /// Address of the vector.
        address: u64,
    },
    /// With poisoned memory: an array whose rows are not all loaded.
    #[error("multiplies by {needed} rows of weights including the bias, but only {rows} have been loaded")]
    WeightsUnset {
        /// Number of loaded rows.
        rows: u64,
        /// Number of used rows.
        needed: u64,
    },
    /// With poisoned memory: a register that was never written.
    #[error("reads SIMD register {register}, which was never written")]
    RegisterUnset {
        /// Number of the register, starting at 1.
        register: u8,
    },
}

/// Formats the distance of elements as a number, or as a power if that is too large.
fn step(stride_log2: &u32) -> String {
    1u64.checked_shl(*stride_log2).map_or_else(|| format!("2^{stride_log2}"), |step| step.to_string())
}

impl FaultKind {
    /// Returns whether the fault is a read of unwritten memory.
    pub const fn is_unwritten(&self) -> bool {
        matches!(
            self,
            Self::Unset { .. } | Self::WeightsUnset { .. } | Self::RegisterUnset { .. } | Self::OutputUnset
        )
    }

    /// Returns the remedy, for the user.
    pub fn hint(&self) -> String {
        match self {
            Self::OutOfRange { depth, .. } => {
                format!(
                    "addresses are 0 to {}; make the run shorter or start it lower",
                    depth.saturating_sub(1)
                )
            }
            Self::SizeZero => "leave the instruction out".to_owned(),
            Self::ReadUnused { .. } => "drop the read flag, or make a source the input (0); on an instance with the suffix `+seed` \
                                        the value need not be used, as in the instruction set specification"
                .to_owned(),
            Self::InputMissing { .. } => {
                "set the read flag, or name registers; a unary operation on a register needs right = left, except on an \
                 instance with the suffix `+seed`"
                    .to_owned()
            }
            Self::NoOpMoves => "use Move to copy, or drop the flags; on an instance with the suffix `+seed` it moves \
                                vectors as in the instruction set specification"
                .to_owned(),
            Self::NoRegister { depth, .. } => format!("name a register from 1 to {depth}"),
            Self::Unassigned { .. } => "remove it: hardware skips it without effect".to_owned(),
            Self::NoLookup => "set lookup_tables in the instance; no released hardware has them".to_owned(),
            Self::NoTable { tables, .. } => format!("name a table from 0 to {tables}"),
            Self::IndexEmpty => "first load the keys with LoadLUT, table 0".to_owned(),
            Self::EntryMissing { .. } => "load one value per key".to_owned(),
            Self::Unset { .. } | Self::RegisterUnset { .. } => {
                "write it first: its content after a reset or an earlier program is unknown"
                    .to_owned()
            }
            Self::OutputUnset => "execute a MatMul first".to_owned(),
            Self::WeightsUnset { .. } => "load N weight rows and the bias row, or rows of zeros".to_owned(),
        }
    }
}
