//! Estimated start times of instructions: [`Estimate`].

use std::collections::VecDeque;

use super::Kind;
use super::needs::Needs;
use crate::clock::Meter;
use crate::config::Config;
use crate::isa::op::{Op, Path};

/// Parameters of the unit that determine timing.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Number of rows and columns of the array.
    size: u64,
    /// Cycles from a row to its results at the accumulators.
    latency: u64,
    /// Number of instructions that can wait for the accumulators.
    commands: usize,
    /// Number of runs that can wait for local memory.
    runs: usize,
    /// Bus cycles per vector, and cycles until the first one arrives.
    reads: (u64, u64),
}

impl Shape {
    /// Returns the parameters of an instance with the memory timing of `meter`.
    pub fn new(config: &Config, meter: &Meter) -> Self {
        let size = config.array_size as u64;
        Self {
            size,
            latency: 2 * size + STAGES,
            commands: 2 * config.array_size,
            runs: config.overlap.local_queue_depth,
            reads: meter.reads(),
        }
    }
}

/// Number of pipeline stages between local memory, the array and the accumulators.
const STAGES: u64 = 4;

/// Estimated cycle at which each unit becomes free.
pub struct Estimate {
    shape: Shape,
    decoder: u64,
    /// Local memory on the array's side.
    local: u64,
    accumulators: u64,
    banks: [u64; 2],
    weights: Weights,
    /// Start cycles of the instructions queued for the accumulators, and of the runs queued for
    /// local memory.
    commands: Waiting,
    runs: Waiting,
    /// For each instruction, the cycle at which its results are available.
    there: Vec<u64>,
}

/// Weights being loaded while others are in use.
#[derive(Default)]
struct Weights {
    loaded: u64,
    /// Cycle at which the most recently exchanged weights may be shifted out.
    free: u64,
    /// Whether weights were loaded since the last product.
    is_new: bool,
}

impl Estimate {
    /// Creates the estimate before `count` instructions.
    pub fn new(shape: Shape, count: usize) -> Self {
        Self {
            shape,
            decoder: 0,
            local: 0,
            accumulators: 0,
            banks: [0; 2],
            weights: Weights::default(),
            commands: Waiting::new(shape.commands),
            runs: Waiting::new(shape.runs),
            there: vec![0; count],
        }
    }

    /// Whether the accumulators would wait for a product's results longer than it takes to dispatch
    /// the product.
    pub fn is_late(&self, needs: &Needs) -> bool {
        self.row_enters(needs) + self.shape.latency > self.accumulators + 2 * STAGES
    }

    /// Returns the cycle at which the first row of a product would enter.
    fn row_enters(&self, needs: &Needs) -> u64 {
        let weights = if self.weights.is_new { self.weights.loaded } else { 0 };
        let decoded = (self.decoder + 1).max(self.commands.room()).max(self.runs.room());
        decoded.max(self.local).max(weights).max(self.needed(needs, &[Kind::Save, Kind::Bank0, Kind::Bank1]))
    }

    fn needed(&self, needs: &Needs, of: &[Kind]) -> u64 {
        let there = of.iter().filter_map(|&kind| needs.last(kind)).map(|i| self.there[i]);
        there.max().unwrap_or(0) // Default: without dependencies, cycle 0.
    }

    /// Advances by one instruction.
    pub fn push(&mut self, i: usize, op: &Op, kind: Kind, needs: &Needs) {
        let size = op.flow().size;
        self.there[i] = match kind {
            Kind::Array if op.flow().path == Path::Array => self.product(needs, size),
            Kind::Array => self.load(needs, size),
            Kind::Alus => self.operation(),
            Kind::Save | Kind::Bring => self.copy(needs, size),
            Kind::Bank0 => self.transfer(0, needs, size),
            Kind::Bank1 => self.transfer(1, needs, size),
        };
    }

    fn product(&mut self, needs: &Needs, size: u64) -> u64 {
        let enters = self.row_enters(needs);
        self.decoder = (self.decoder + 1).max(self.commands.room()).max(self.runs.room());
        if std::mem::take(&mut self.weights.is_new) {
            self.weights.free = enters + 1;
        }
        let begins = self.accumulators.max(enters + self.shape.latency);
        self.accumulators = begins + size;
        // The array buffers the results of at most 2N rows.
        self.local = (enters + size).max(self.accumulators.saturating_sub(2 * self.shape.size));
        self.runs.push(enters);
        self.commands.push(begins);
        self.accumulators
    }

    fn load(&mut self, needs: &Needs, size: u64) -> u64 {
        self.decoder += 1;
        let free = if self.weights.is_new { 0 } else { self.weights.free };
        let begins = self.weights.loaded.max(free).max(self.decoder).max(self.needed(needs, &Kind::ALL));
        self.weights.is_new = true;
        self.weights.loaded = begins + size;
        self.weights.loaded
    }

    fn operation(&mut self) -> u64 {
        self.decoder = (self.decoder + 1).max(self.commands.room());
        let begins = self.accumulators.max(self.decoder + 2);
        self.accumulators = begins + 1;
        self.commands.push(begins);
        begins + 3
    }

    fn copy(&mut self, needs: &Needs, size: u64) -> u64 {
        self.decoder = (self.decoder + 1).max(self.commands.room()).max(self.runs.room());
        let begins =
            self.accumulators.max(self.local).max(self.decoder + 2).max(self.needed(needs, &Kind::ALL));
        self.runs.push(begins);
        self.commands.push(begins);
        self.accumulators = begins + size;
        self.local = begins + size + 1;
        self.local
    }

    fn transfer(&mut self, bank: usize, needs: &Needs, size: u64) -> u64 {
        self.decoder += 1;
        let (beats, latency) = self.shape.reads;
        let begins = self.banks[bank].max(self.decoder).max(self.needed(needs, &Kind::ALL));
        self.banks[bank] = begins + size * beats;
        self.banks[bank] + latency
    }
}

/// A queue, as the cycles at which its entries leave.
struct Waiting {
    depth: usize,
    left: VecDeque<u64>,
}

impl Waiting {
    fn new(depth: usize) -> Self {
        Self { depth, left: VecDeque::with_capacity(depth) }
    }

    /// Returns the cycle at which the queue has room.
    fn room(&self) -> u64 {
        match self.left.front() {
            Some(left) if self.left.len() >= self.depth => left + 1,
            _ => 0,
        }
    }

    fn push(&mut self, leaves: u64) {
        if self.left.len() >= self.depth {
            self.left.pop_front();
        }
        self.left.push_back(leaves);
    }
}
