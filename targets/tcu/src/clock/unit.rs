//! The units of the accelerator: [`Unit`].

use std::fmt;

/// A unit of the accelerator. The decoder waits for all of them except the ALUs, which belong to
/// the accumulators.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Unit {
    /// The decoder itself.
    #[default]
    Decoder,
    /// Local memory's port A: array, weights and accumulator moves.
    LocalA,
    /// The router between local memory, array and accumulators.
    Router,
    /// The systolic array.
    Array,
    /// The accumulators.
    Accumulator,
    /// The ALUs after the accumulators.
    Alu,
    /// Local memory's port B and the router between it and the banks.
    LocalB,
    /// Reads of DRAM0.
    Dram0Read,
    /// Writes of DRAM0.
    Dram0Write,
    /// Reads of DRAM1.
    Dram1Read,
    /// Writes of DRAM1.
    Dram1Write,
}

impl Unit {
    /// All units.
    pub const ALL: [Self; 11] = [
        Self::Decoder,
        Self::LocalA,
        Self::Router,
        Self::Array,
        Self::Accumulator,
        Self::Alu,
        Self::LocalB,
        Self::Dram0Read,
        Self::Dram0Write,
        Self::Dram1Read,
        Self::Dram1Write,
    ];

    /// Returns the name for reports.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Decoder => "decoder",
            Self::LocalA => "local memory port A",
            Self::Router => "router",
            Self::Array => "array",
            Self::Accumulator => "accumulators",
            Self::Alu => "ALUs",
            Self::LocalB => "local memory port B",
            Self::Dram0Read => "DRAM0 read",
            Self::Dram0Write => "DRAM0 write",
            Self::Dram1Read => "DRAM1 read",
            Self::Dram1Write => "DRAM1 write",
        }
    }
}

impl fmt::Display for Unit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
