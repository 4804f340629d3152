//! DRAM writes that a Configure of the offset moves: [`MovedWrites`].

use std::fmt;

use crate::isa::op::{Memory, Op, Register};
use crate::machine::configuration::Configuration;

/// A Configure of an offset that takes effect before all write addresses of the bank are issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MovedWrites {
    /// Index of the Configure instruction.
    pub configure: usize,
    /// Bank whose writes are moved.
    pub bank: Memory,
}

impl MovedWrites {
    /// Hint on how to avoid the problem.
    pub const HINT: &str = "read a vector of the bank first: a read waits for all earlier writes";
}

impl fmt::Display for MovedWrites {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bank = self.bank;
        write!(
            f,
            "writes to {bank} before it are still queued: the hardware sends their later bursts to the new window"
        )
    }
}

/// Returns the bank for which `op` changes the offset, given the values of the registers; `None` if
/// `op` changes no offset.
pub(crate) fn offset_changed(configuration: &Configuration, op: &Op) -> Option<Memory> {
    let Op::Configure { register, value } = *op else { return None };
    let (register, bank) = match Register::from_code(register)? {
        register @ Register::Dram0Offset => (register, Memory::Dram0),
        register @ Register::Dram1Offset => (register, Memory::Dram1),
        _ => return None,
    };
    (configuration.get(register) != configuration.taken(register, value)).then_some(bank)
}
