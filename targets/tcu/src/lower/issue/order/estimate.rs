//! When instructions begin, about: [`Estimate`].

use std::collections::VecDeque;

use super::Kind;
use super::needs::Needs;
use crate::clock::Meter;
use crate::config::Config;
use crate::isa::op::{Op, Path};

/// What time goes by.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// Size of the array.
    size: u64,
    /// Cycles from a row to its results at the accumulators.
    latency: u64,
    /// Instructions that wait for the accumulators.
    commands: usize,
    /// Runs that wait for local memory.
    runs: usize,
    /// Cycles of a vector on the bus, and until the first one is there.
    reads: (u64, u64),
}

impl Shape {
    /// Of an instance with its memory.
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

/// Stages between local memory, the array and the accumulators.
const STAGES: u64 = 4;

/// When each unit has done what it was given.
pub struct Estimate {
    shape: Shape,
    decoder: u64,
    /// Local memory on the array's side.
    local: u64,
    accumulators: u64,
    banks: [u64; 2],
    weights: Weights,
    /// When instructions that waited for the accumulators began, and runs of local memory.
    commands: Waiting,
    runs: Waiting,
    /// When what each instruction writes is there.
    there: Vec<u64>,
}

/// Weights that are loaded beside those at work.
#[derive(Default)]
struct Weights {
    loaded: u64,
    /// From when on those that were exchanged last may be shifted away.
    free: u64,
    /// Whether some have been loaded since the last product.
    is_new: bool,
}

impl Estimate {
    /// Before `count` instructions.
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

    /// Whether the accumulators would wait for the results of a product longer than it takes to hand it out.
    pub fn is_late(&self, needs: &Needs) -> bool {
        self.row_enters(needs) + self.shape.latency > self.accumulators + 2 * STAGES
    }

    /// When the first row of a product would enter.
    fn row_enters(&self, needs: &Needs) -> u64 {
        let weights = if self.weights.is_new { self.weights.loaded } else { 0 };
        let decoded = (self.decoder + 1).max(self.commands.room()).max(self.runs.room());
        decoded.max(self.local).max(weights).max(self.needed(needs, &[Kind::Save, Kind::Bank0, Kind::Bank1]))
    }

    fn needed(&self, needs: &Needs, of: &[Kind]) -> u64 {
        let there = of.iter().filter_map(|&kind| needs.last(kind)).map(|i| self.there[i]);
        there.max().unwrap_or(0) // Default: it was there before all.
    }

    /// The next instruction.
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
        // There is a place for the results of 2N rows.
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

/// A queue: when what has been put into it left.
struct Waiting {
    depth: usize,
    left: VecDeque<u64>,
}

impl Waiting {
    fn new(depth: usize) -> Self {
        Self { depth, left: VecDeque::with_capacity(depth) }
    }

    /// From when on there is room.
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
