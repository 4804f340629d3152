//! What each unit did when: [`Slice`].

use super::queue::{Cycle, NEVER};
use super::stall::Stalled;
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

/// What a unit does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happening {
    /// It works, in so many of the cycles: rows, accesses, operations, beats; the decoder in one.
    Work(Slice, u64),
    /// It has work and waits.
    Wait(Waiting),
}

/// A unit that waits for the same thing again and again, while it works on an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Index of the instruction.
    pub instruction: usize,
    /// The unit.
    pub unit: Unit,
    /// For what.
    pub on: &'static str,
    /// The first cycle in which it waits.
    pub start: u64,
    /// One past the last.
    pub end: u64,
    /// In how many of them it waits.
    pub cycles: u64,
}

/// Cycles of work between two waits that are shown as one.
const SHORT: Cycle = 8;

/// The waits of an instruction, from its stalls: those of a unit for the same thing that are next to each other or
/// nearly so are one.
pub(super) fn waits(instruction: usize, stalls: &[(Unit, &'static str, Stalled)]) -> Vec<Waiting> {
    let mut waits: Vec<Waiting> = Vec::new();
    for &(unit, on, Stalled { from, to, .. }) in stalls {
        let last = waits.last_mut().filter(|last| last.unit == unit && last.on == on);
        match last.filter(|last| from >= last.end && from - last.end <= SHORT) {
            Some(last) => (last.end, last.cycles) = (to, last.cycles + to - from),
            None => waits.push(Waiting { instruction, unit, on, start: from, end: to, cycles: to - from }),
        }
    }
    waits
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

    /// The same of a unit that works on several instructions at once: what it did while it worked on an earlier one is not
    /// told, so that slices come in order. `told` is the last cycle so far.
    pub(super) fn set_after(&mut self, unit: Unit, start: Cycle, end: Cycle, told: &mut Cycle) {
        let start = start.max(*told + 1);
        if start <= end {
            self.set(unit, start, end);
            *told = end;
        }
    }

    /// The slices of an instruction that ended.
    pub(super) fn slices(self, instruction: usize) -> impl Iterator<Item = Slice> {
        let slice = move |(unit, (start, end))| Slice { instruction, unit, start, end };
        Unit::ALL.into_iter().zip(self.0).filter(|(_, (_, end))| *end < NEVER).map(slice)
    }
}
