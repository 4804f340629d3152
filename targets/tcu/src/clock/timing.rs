//! Cycles and energy by the released estimator: [`estimate`].
//!
//! It charges one cycle per vector for DRAM and overlaps nothing, so it gives about half the cycles
//! that boards take. The released figures are in these cycles. Source: the TCU specification, 8.

use std::collections::BTreeMap;

use crate::config::Config;
use crate::isa::kind::kind;
use crate::isa::op::{Op, Path};

/// Cost of instructions of one kind, or of a whole program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Number of instructions.
    pub instructions: usize,
    /// Number of vectors handled.
    pub vectors: u64,
    /// Number of cycles.
    pub cycles: u64,
    /// Energy in the estimator's own unit.
    pub energy: u64,
}

impl Cost {
    /// Adds another cost, with saturation.
    pub fn add(&mut self, other: &Self) {
        self.instructions += other.instructions;
        self.vectors = self.vectors.saturating_add(other.vectors);
        self.cycles = self.cycles.saturating_add(other.cycles);
        self.energy = self.energy.saturating_add(other.energy);
    }
}

/// Cost of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Estimate {
    /// Cycles until the last instruction has left the queue ("aggregate").
    pub cycles: u64,
    /// Cycles as the released estimator prints them ("execution"): without the last
    /// `thread_queue_depth + 1` instructions, which it leaves in its queue.
    pub undrained: u64,
    /// Energy in the estimator's own unit.
    pub energy: u64,
    /// Cost by kind of instruction; see `isa::kind`.
    pub kinds: BTreeMap<&'static str, Cost>,
}

/// State of the estimator, which costs one instruction after another.
#[derive(Clone, Debug)]
pub struct Estimator {
    array_size: u64,
    /// Path of the previous instruction, on which the cost of products depends.
    previous: Path,
}

impl Estimator {
    /// Creates an estimator before the first instruction.
    pub fn new(config: &Config) -> Self {
        Self { array_size: config.array_size as u64, previous: Path::Decoder }
    }

    /// Returns the cost of the next instruction.
    pub fn cost(&mut self, op: &Op) -> Cost {
        let (n, flow) = (self.array_size, op.flow());
        let vectors = flow.vectors();
        let each = |energy: u64| vectors.saturating_mul(energy);
        let (cycles, energy) = match flow.path {
            Path::Decoder if matches!(op, Op::NoOp | Op::Wait { .. }) => (1, 0),
            // The released estimator times only the paths below.
            Path::Decoder | Path::Tables(_) => (0, 0),
            Path::Array => {
                let filling = match self.previous {
                    Path::Array => 0,
                    Path::Weights => n,
                    _ => n.saturating_mul(2),
                };
                (vectors.saturating_add(filling), each(n).saturating_mul(n))
            }
            Path::Alus(_) => (vectors, each(n)),
            Path::Copy if flow.bank().is_some() => (vectors, each(DRAM_ENERGY)),
            Path::Copy | Path::Weights => (vectors, each(ON_CHIP_ENERGY)),
        };
        self.previous = flow.path;
        Cost { instructions: 1, vectors, cycles, energy }
    }
}

/// Energy per vector moved between on-chip memories.
const ON_CHIP_ENERGY: u64 = 10;
/// Energy per vector moved to or from DRAM.
const DRAM_ENERGY: u64 = 100;

/// Estimates the cost of a program with one thread.
pub fn estimate(config: &Config, ops: &[Op]) -> Estimate {
    let left_in_queue = config.thread_queue_depth.saturating_add(1);
    let retired = ops.len().saturating_sub(left_in_queue);
    let mut estimator = Estimator::new(config);
    let mut estimate = Estimate::default();
    for (i, op) in ops.iter().enumerate() {
        let cost = estimator.cost(op);
        estimate.cycles = estimate.cycles.saturating_add(cost.cycles);
        estimate.energy = estimate.energy.saturating_add(cost.energy);
        if i < retired {
            estimate.undrained = estimate.cycles;
        }
        estimate.kinds.entry(kind(op)).or_default().add(&cost);
    }
    estimate
}
