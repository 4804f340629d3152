//! When instructions run: [`run`]. One after the other, each from the end of the one before it.

pub(crate) mod timing;

use crate::clock::timing::{Cost, cost};
use crate::config::Config;
use crate::isa::op::Op;

/// What each instruction of a program takes, up to its `end`.
pub fn run(config: &Config, ops: &[Op]) -> Vec<Cost> {
    let end = ops.iter().position(|op| *op == Op::End).map_or(ops.len(), |end| end + 1);
    ops.iter().take(end).map(|op| cost(config, op)).collect()
}

/// The cycles of a program.
pub fn cycles(config: &Config, ops: &[Op]) -> u64 {
    run(config, ops).iter().map(|cost| cost.cycles).sum()
}
