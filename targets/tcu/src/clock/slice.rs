//! What each unit did when: [`Slice`].

use super::queue::{Cycle, NEVER};
use super::unit::Unit;

/// A unit at work on an instruction. On one unit, slices come in order and do not overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// Index of the instruction.
    pub instruction: usize,
    /// The unit. The decoder holds the instruction, ports A and B have accesses, the array takes rows,
    /// the accumulators are accessed, the ALUs start an operation, a bank has beats on its bus. The
    /// router has no slices.
    pub unit: Unit,
    /// The first cycle.
    pub start: u64,
    /// The last cycle.
    pub end: u64,
}

/// The first and last cycles of the units an instruction concerns.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spans([(Cycle, Cycle); Unit::ALL.len()]);

impl Spans {
    pub(super) const NONE: Self = Self([(NEVER, NEVER); Unit::ALL.len()]);

    /// The unit worked from `start` to `end`.
    pub(super) fn set(&mut self, unit: Unit, start: Cycle, end: Cycle) {
        if let Some(span) = self.0.get_mut(unit as usize) {
            *span = (start, end);
        }
    }

    /// The slices of an instruction that ended.
    pub(super) fn slices(self, instruction: usize) -> impl Iterator<Item = Slice> {
        let slice = move |(unit, (start, end))| Slice { instruction, unit, start, end };
        Unit::ALL.into_iter().zip(self.0).filter(|(_, (_, end))| *end < NEVER).map(slice)
    }
}
