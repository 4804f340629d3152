//! [`Memory`]: the memories that instructions access.

use std::fmt;

/// A memory of the unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Memory {
    /// Off-chip memory 0.
    Dram0,
    /// Off-chip memory 1.
    Dram1,
    /// On-chip memory of operands.
    Local,
    /// On-chip memory of results.
    Accumulators,
}

impl fmt::Display for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Dram0 => "DRAM0",
            Self::Dram1 => "DRAM1",
            Self::Local => "local memory",
            Self::Accumulators => "accumulators",
        })
    }
}
