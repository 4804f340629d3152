//! [`Fault`]: why a run stopped, with the cycle, the cell and the instruction.

use thiserror::Error;

use crate::config::fabric::Place;
use crate::isa::program::At;
use crate::machine::agu::PatternError;

/// Why a run stopped.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Fault {
    /// An instruction that cannot be executed.
    #[error("cycle {cycle}, {at}: {kind}")]
    Instruction {
        /// When.
        cycle: u64,
        /// Which.
        at: At,
        /// What is wrong.
        kind: FaultKind,
    },
    /// An access that cannot be made.
    #[error("cycle {cycle}, cell {place}, slot {slot}, port {port}: {kind}")]
    Access {
        /// When.
        cycle: u64,
        /// The cell.
        place: Place,
        /// The slot.
        slot: u8,
        /// The port.
        port: u8,
        /// What is wrong.
        kind: FaultKind,
    },
    /// A row of the output buffer that nobody wrote is taken.
    #[error("row {row} of the output buffer is taken, which nobody wrote")]
    Output {
        /// Row.
        row: usize,
    },
    /// It does not end.
    #[error("still running in cycle {cycle}, after {computed} cycles in which something happened\n{state}")]
    Limit {
        /// The next cycle.
        cycle: u64,
        /// Cycles computed.
        computed: u64,
        /// Where every cell is.
        state: String,
    },
}

/// What is wrong.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FaultKind {
    /// A configuration that is not legal.
    #[error("slot {slot}, port {port}: {reason}")]
    Pattern {
        /// The slot.
        slot: u8,
        /// The port.
        port: u8,
        /// What is wrong.
        reason: PatternError,
    },
    /// A port that runs is configured, which no source defines.
    #[error("slot {slot}, port {port} is configured while it runs, up to its address of cycle {until}")]
    Busy {
        /// The slot.
        slot: u8,
        /// The port.
        port: u8,
        /// Cycle of its last address.
        until: u64,
    },
    /// A configuration that the hardware may erase again (strict only).
    #[error(
        "slot {slot}, port {port}, whose last address was in cycle {last}, may be {what} from cycle {from} on"
    )]
    Early {
        /// The slot.
        slot: u8,
        /// The port.
        port: u8,
        /// Configured or activated.
        what: &'static str,
        /// Cycle of the last address.
        last: u64,
        /// First safe cycle.
        from: u64,
    },
    /// A jump out of the instruction memory.
    #[error("jumps to instruction {target}; there are 0 to {}", .words - 1)]
    Branch {
        /// Where to.
        target: i64,
        /// Words of the memory.
        words: usize,
    },
    /// A buffer has no such row.
    #[error("row {row} of the {buffer} buffer, which has rows 0 to {}", .depth - 1)]
    Buffer {
        /// Row.
        row: usize,
        /// Input or output.
        buffer: &'static str,
        /// Rows.
        depth: usize,
    },
    /// A register that nobody wrote is read.
    #[error("register {register} is read, which nobody wrote")]
    Unwritten {
        /// Its number.
        register: usize,
    },
    /// A row of a memory that nobody wrote is read.
    #[error("word {word} of row {row} is read, which nobody wrote")]
    UnwrittenRow {
        /// Row.
        row: usize,
        /// The first word of it.
        word: usize,
    },
    /// A row of the input buffer that nobody wrote is read.
    #[error("row {row} of the input buffer is read, which nobody wrote")]
    UnwrittenInput {
        /// Row.
        row: usize,
    },
    /// What is written does not come from anywhere.
    #[error("takes what arrives in a cycle in which nothing is sent to it")]
    NothingArrives,
    /// An address beyond the memory (strict only).
    #[error("address {address} is beyond 0 to {}", .size - 1)]
    Address {
        /// Address.
        address: i64,
        /// What there is.
        size: u32,
    },
}

impl FaultKind {
    /// Whether it is about what nobody has written.
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
