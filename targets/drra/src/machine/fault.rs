//! [`Fault`]: reason why a run stopped, with the cycle, the cell and the instruction.

use thiserror::Error;

use crate::config::fabric::Place;
use crate::isa::program::At;
use crate::machine::agu::PatternError;

/// Reason why a run stopped.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    /// An instruction cannot be executed.
    #[error("cycle {cycle}, {at}: {kind}")]
    Instruction {
        /// Cycle of the fault.
        cycle: u64,
        /// Position of the instruction.
        at: At,
        /// Kind of fault.
        kind: FaultKind,
    },
    /// An access is invalid.
    #[error("cycle {cycle}, cell {place}, slot {slot}, port {port}: {kind}")]
    Access {
        /// Cycle of the fault.
        cycle: u64,
        /// Position of the cell.
        place: Place,
        /// Slot of the port.
        slot: u8,
        /// Port number.
        port: u8,
        /// Kind of fault.
        kind: FaultKind,
    },
    /// An unwritten row of the output buffer is taken.
    #[error("row {row} of the output buffer is taken, but was never written")]
    Output {
        /// Row number.
        row: usize,
    },
    /// The run exceeds the cycle limit.
    #[error("still running in cycle {cycle}, after {computed} active cycles\n{state}")]
    Limit {
        /// Next cycle.
        cycle: u64,
        /// Number of cycles computed.
        computed: u64,
        /// Position of every cell, one line per cell.
        state: String,
    },
}

/// Kind of fault.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FaultKind {
    /// An illegal configuration.
    #[error("slot {slot}, port {port}: {reason}")]
    Pattern {
        /// Slot of the port.
        slot: u8,
        /// Port number.
        port: u8,
        /// Reason.
        reason: PatternError,
    },
    /// A port is configured while it is active, which no source defines.
    #[error("slot {slot}, port {port} is configured while it runs; its last address is in cycle {until}")]
    Busy {
        /// Slot of the port.
        slot: u8,
        /// Port number.
        port: u8,
        /// Cycle of its last address.
        until: u64,
    },
    /// A configuration that hardware may erase (option `strict` only).
    #[error(
        "slot {slot}, port {port}: the last address was in cycle {last}; it may be {what} in cycle {from} at the earliest"
    )]
    Early {
        /// Slot of the port.
        slot: u8,
        /// Port number.
        port: u8,
        /// `configured` or `activated`.
        what: &'static str,
        /// Cycle of the last address.
        last: u64,
        /// First safe cycle.
        from: u64,
    },
    /// A branch leaves the instruction memory.
    #[error("jumps to instruction {target}; legal are 0 to {}", .words - 1)]
    Branch {
        /// Index of the target instruction.
        target: i64,
        /// Words of the memory.
        words: usize,
    },
    /// A row is outside a buffer.
    #[error("row {row} of the {buffer} buffer, which has rows 0 to {}", .depth - 1)]
    Buffer {
        /// Row number.
        row: usize,
        /// `input` or `output`.
        buffer: &'static str,
        /// Rows of the buffer.
        depth: usize,
    },
    /// An unwritten register is read.
    #[error("register {register} is read before it is written")]
    Unwritten {
        /// Register number.
        register: usize,
    },
    /// An unwritten row of a memory is read.
    #[error("word {word} of row {row} is read before it is written")]
    UnwrittenRow {
        /// Row number.
        row: usize,
        /// First unwritten word of the row.
        word: usize,
    },
    /// An unwritten row of the input buffer is read.
    #[error("row {row} of the input buffer is read before it is written")]
    UnwrittenInput {
        /// Row number.
        row: usize,
    },
    /// A port takes data in a cycle in which nothing arrives.
    #[error("takes data in a cycle in which nothing is sent to it")]
    NothingArrives,
    /// An address is outside the memory (option `strict` only).
    #[error("address {address} is beyond 0 to {}", .size - 1)]
    Address {
        /// Address before wrapping.
        address: i64,
        /// Number of addresses of the memory.
        size: u32,
    },
}

impl FaultKind {
    /// Whether it is an unwritten read.
    pub(crate) const fn is_unwritten(&self) -> bool {
        matches!(
            self,
            Self::Unwritten { .. }
                | Self::UnwrittenRow { .. }
                | Self::UnwrittenInput { .. }
                | Self::NothingArrives
        )
    }
}
