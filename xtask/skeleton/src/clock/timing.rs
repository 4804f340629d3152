//! Cost of instructions: [`cost`]. [`crate::clock`] determines when they start.

use crate::config::Config;
use crate::isa::op::Op;

/// Cost of an instruction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Cycles from start to end.
    pub cycles: u64,
    /// Number of processed numbers.
    pub numbers: u64,
}

/// Returns the cost of an instruction.
pub fn cost(config: &Config, op: &Op) -> Cost {
    match *op {
        Op::End => Cost { cycles: 1, numbers: 0 },
        Op::Add { n, .. } | Op::Relu { n, .. } | Op::Dot { n, .. } => vector(config, n),
    }
}

/// Returns the cost of an instruction on `n` numbers, which processes `lanes` numbers per cycle.
fn vector(config: &Config, n: u32) -> Cost {
    Cost { cycles: u64::from(config.latency) + u64::from(n.div_ceil(config.lanes)), numbers: n.into() }
}
