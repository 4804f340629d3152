//! How long the decoder held an instruction: `Held`.

use crate::clock::queue::Cycle;
use crate::clock::slice::Waiting;
use crate::clock::unit::Unit;

/// The first cycle in which the decoder has an instruction.
pub(super) const FIRST: Cycle = 2;

/// How long the decoder held an instruction, and for whom.
#[derive(Clone, Copy, Debug)]
pub(super) struct Held {
    /// When it came.
    pub(super) from: Cycle,
    /// When its last part was taken.
    pub(super) until: Cycle,
    /// Who took the last part.
    pub(super) by: Unit,
}

impl Held {
    /// Cycles beyond the first.
    pub(super) const fn waited(self) -> u64 {
        self.until - self.from
    }

    /// The same as a wait of the decoder, if it did.
    pub(super) fn waiting(self, instruction: usize) -> Option<Waiting> {
        let Self { from: start, until: end, by } = self;
        let (unit, on, cycles) = (Unit::Decoder, by.name(), self.waited());
        (cycles > 0).then_some(Waiting { instruction, unit, on, start, end, cycles })
    }
}
