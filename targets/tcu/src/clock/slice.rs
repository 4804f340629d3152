//! Activity of each unit over time: [`Slice`].

use super::queue::{Cycle, NEVER};
use super::stall::Stalled;
use super::unit::Unit;

/// A period in which a unit works on an instruction. Slices of one unit are in order and do not
/// overlap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// Index of the instruction.
    pub instruction: usize,
    /// Working unit. "Working" means: the decoder holds the instruction, ports A and B have
    /// accesses, the array takes rows, the accumulators are accessed. For ALUs it means that they
    /// start an operation, for a bank that its bus has beats. The router has no slices.
    pub unit: Unit,
    /// First cycle.
    pub start: u64,
    /// Last cycle.
    pub end: u64,
}

/// Activity of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Happening {
    /// The unit works in this number of the slice's cycles: rows, accesses, operations or beats;
    /// one cycle for the decoder.
    Work(Slice, u64),
    /// The unit has work and waits.
    Wait(Waiting),
}

/// A period in which a unit working on an instruction repeatedly waits for the same thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Waiting {
    /// Index of the instruction.
    pub instruction: usize,
    /// Waiting unit.
    pub unit: Unit,
    /// Resource or event that the unit waits for.
    pub on: &'static str,
    /// First cycle in which it waits.
    pub start: u64,
    /// One past the last cycle in which it waits.
    pub end: u64,
    /// Number of cycles in which it waits.
    pub cycles: u64,
}

/// Maximum number of working cycles between two waits that are merged.
const SHORT: Cycle = 8;

/// Merges the stalls of an instruction into waits. Stalls of a unit for the same thing are one wait
/// if they are adjacent or nearly so.
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

/// First and last cycle of each unit that an instruction uses.
#[derive(Clone, Copy, Debug)]
pub(super) struct Spans([(Cycle, Cycle); Unit::ALL.len()]);

impl Spans {
    pub(super) const NONE: Self = Self([(NEVER, NEVER); Unit::ALL.len()]);

    /// Records that the unit worked from `start` to `end`.
    pub(super) fn set(&mut self, unit: Unit, start: Cycle, end: Cycle) {
        if let Some(span) = self.0.get_mut(unit as usize) {
            *span = (start, end);
        }
    }

    /// Records the work of a unit that handles several instructions at once. Cycles up to
    /// `reported`, the last cycle reported so far, are skipped, so that slices stay in order.
    pub(super) fn set_after(&mut self, unit: Unit, start: Cycle, end: Cycle, reported: &mut Cycle) {
        let start = start.max(*reported + 1);
        if start <= end {
            self.set(unit, start, end);
            *reported = end;
        }
    }

    /// Returns the slices of a finished instruction.
    pub(super) fn slices(self, instruction: usize) -> impl Iterator<Item = Slice> {
        let slice = move |(unit, (start, end))| Slice { instruction, unit, start, end };
        Unit::ALL.into_iter().zip(self.0).filter(|(_, (_, end))| *end < NEVER).map(slice)
    }
}
