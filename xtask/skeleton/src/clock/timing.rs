//! What instructions cost: [`cost`]. When they start is the business of [`crate::clock`].

use crate::config::Config;
use crate::isa::op::Op;

/// What an instruction costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Cycles from its start to its end.
    pub cycles: u64,
    /// Numbers it handles.
    pub numbers: u64,
}

/// The cost of an instruction.
pub fn cost(config: &Config, op: &Op) -> Cost {
    match *op {
        Op::End => Cost { cycles: 1, numbers: 0 },
        Op::Add { n, .. } | Op::Relu { n, .. } => vector(config, n),
    }
}

/// An instruction that handles `n` numbers, as many in a cycle as there are lanes.
fn vector(config: &Config, n: u32) -> Cost {
    Cost { cycles: u64::from(config.latency) + u64::from(n.div_ceil(config.lanes)), numbers: n.into() }
}
