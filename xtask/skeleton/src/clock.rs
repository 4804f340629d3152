//! Timing of programs: [`run`]. Instructions run one after the other.

pub(crate) mod timing;

use crate::clock::timing::{Cost, cost};
use crate::config::Config;
use crate::isa::op::Op;

/// Returns the cost of each instruction of a program, up to its `end`.
pub fn run(config: &Config, ops: &[Op]) -> Vec<Cost> {
    let end = ops.iter().position(|op| *op == Op::End).map_or(ops.len(), |end| end + 1);
    ops.iter().take(end).map(|op| cost(config, op)).collect()
}

/// Returns the cycles of a program.
pub fn cycles(config: &Config, ops: &[Op]) -> u64 {
    run(config, ops).iter().map(|cost| cost.cycles).sum()
}
