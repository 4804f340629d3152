//! Writes to DRAM that a Configure of the offset moves: [`MovedWrites`].

use std::fmt;

use crate::isa::op::{Memory, Op, Register};
use crate::machine::configuration::Configuration;

/// A Configure of an offset that comes before addresses of writes to the bank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MovedWrites {
    /// The instruction.
    pub configure: usize,
    /// The bank.
    pub bank: Memory,
}

impl MovedWrites {
    /// What to do.
    pub const HINT: &str = "read a vector of the bank before it: reads wait for all writes";
}

impl fmt::Display for MovedWrites {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bank = self.bank;
        write!(
            f,
            "writes to {bank} before it are still queued: hardware makes their later bursts in the new window"
        )
    }
}

/// The bank whose offset `op` changes, given what the registers hold.
pub(crate) fn offset_changed(configuration: &Configuration, op: &Op) -> Option<Memory> {
    let Op::Configure { register, value } = *op else { return None };
    let (register, bank) = match Register::from_code(register)? {
        register @ Register::Dram0Offset => (register, Memory::Dram0),
        register @ Register::Dram1Offset => (register, Memory::Dram1),
        _ => return None,
    };
    (configuration.get(register) != configuration.taken(register, value)).then_some(bank)
}
