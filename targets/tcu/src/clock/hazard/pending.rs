//! Accumulator writes that can be pending, at any timing: [`Pending`].
//!
//! A write has happened when a later accumulator command has passed the first port: a read, or a
//! write to another vector. An addition to the same vector does not prove it. A write has also
//! happened if the decoder cannot have continued before it. Local memory's port holds three
//! vectors, so LoadWeights of four rows passes neither a move from local memory nor rows of the
//! array, for whose results it waits.

use std::fmt;

use crate::isa::op::{Flow, Memory, Op, Path, Strided};

/// Pattern by which a write can be lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pattern {
    /// An addition after an addition.
    Addition,
    /// An addition after an overwriting write, after another write.
    Overwrite,
}

/// A write that hardware may lose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Hazard {
    /// Index of the instruction whose last write may be lost.
    pub first: usize,
    /// Index of the instruction whose first addition may read too early.
    pub second: usize,
    /// Accumulator address.
    pub address: u64,
    /// Pattern of the hazard.
    pub pattern: Pattern,
}

impl fmt::Display for Hazard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first, address, pattern, .. } = self;
        match pattern {
            Pattern::Addition => write!(
                f,
                "the second addition reads acc[{address:#x}] before the first has written it; the released hardware \
                 loses the first (instruction {first})"
            ),
            Pattern::Overwrite => write!(
                f,
                "the addition reads acc[{address:#x}] before the write before it has overwritten it; the released \
                 hardware adds to what was there and loses that write (instruction {first})"
            ),
        }
    }
}

/// Number of LoadWeights rows that cannot pass data from local memory's port or the array.
const ROWS_THAT_WAIT: u64 = 4;

/// Unit that provides the data of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    Array,
    Local,
    Alus,
}

/// A write that may be pending.
#[derive(Clone, Copy, Debug)]
struct Write {
    instruction: usize,
    address: u64,
    adds: bool,
}

/// Writes that may be pending, updated instruction by instruction.
#[derive(Clone, Debug, Default)]
pub struct Pending {
    /// The last write. `before` is the write before `last`. Both are `None` after a read.
    last: Option<Write>,
    before: Option<Write>,
    source: Option<Source>,
    /// Number of rows of local memory loaded as weights since the last write.
    rows: u64,
    /// Whether the rows that may be in the array add; `None` if weights have been loaded since.
    rows_add: Option<bool>,
    /// Whether another command came after these rows that can delay the next results.
    mixed: bool,
    /// Whether results of the array may be taken later than it offers them, until the accumulators
    /// have caught up.
    late: bool,
}

impl Pending {
    /// Processes the next instruction; returns the write that it may lose.
    pub fn follow(&mut self, instruction: usize, op: &Op) -> Option<Hazard> {
        let flow = op.flow();
        match flow.path {
            Path::Array => {
                let hazard = self.hazard(instruction, &flow);
                // Additions wait for the lock that overwriting writes take.
                let alternates = self.rows_add.replace(flow.adds).is_some_and(|adds| adds != flow.adds);
                self.mixed |= alternates;
                self.late |= self.mixed;
                self.written(instruction, &flow, Source::Array);
                hazard
            }
            // The decoder waits for the last vector that leaves the accumulators. By then, all
            // earlier writes are done.
            Path::Copy if flow.read(Memory::Accumulators).is_some() => {
                *self = Self::default();
                None
            }
            Path::Copy => {
                flow.written(Memory::Accumulators)?;
                let hazard = self.hazard(instruction, &flow);
                self.mixed |= self.rows_add.is_some();
                self.written(instruction, &flow, Source::Local);
                hazard
            }
            Path::Alus(_) => {
                self.mixed |= self.rows_add.is_some();
                if flow.source.is_some() {
                    (self.last, self.before) = (None, None);
                }
                let hazard = self.hazard(instruction, &flow);
                self.written(instruction, &flow, Source::Alus);
                hazard
            }
            Path::Weights => {
                self.load_weights(if flow.source.is_some() { flow.size } else { 0 });
                None
            }
            Path::Decoder | Path::Tables(_) => None,
        }
    }

    /// Returns the write that an instruction may lose if it adds.
    fn hazard(&self, instruction: usize, flow: &Flow) -> Option<Hazard> {
        let Strided { address, .. } = flow.written(Memory::Accumulators).filter(|_| flow.adds)?;
        let last = self.last.filter(|last| last.address == address)?;
        let pattern = match (last.adds, self.before) {
            (true, _) => Pattern::Addition,
            (false, Some(before)) if before.address == address => Pattern::Overwrite,
            _ => return None,
        };
        Some(Hazard { first: last.instruction, second: instruction, address, pattern })
    }

    fn written(&mut self, instruction: usize, flow: &Flow, source: Source) {
        let Some(run) = flow.written(Memory::Accumulators) else { return };
        let Flow { size, adds, .. } = *flow;
        let write = |i| Write { instruction, address: run.wrapping_at(i), adds };
        self.before = if size > 1 { Some(write(size - 2)) } else { self.last };
        self.last = Some(write(size.saturating_sub(1)));
        (self.source, self.rows) = (Some(source), 0);
    }

    /// Loads `rows` rows of weights. Weights enter the array after its results have left, and leave
    /// local memory's port when they do.
    fn load_weights(&mut self, rows: u64) {
        self.rows = self.rows.saturating_add(rows);
        let waited = self.rows >= ROWS_THAT_WAIT;
        match self.source {
            Some(Source::Local) if waited => *self = Self::default(),
            Some(Source::Array) if waited && !self.late => (self.last, self.before) = (None, None),
            _ => {}
        }
        (self.rows_add, self.mixed) = (None, false);
    }
}
