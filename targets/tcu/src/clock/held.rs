//! Time that the decoder held an instruction: `DecoderHold`.

use crate::clock::queue::Cycle;
use crate::clock::slice::Waiting;
use crate::clock::unit::Unit;

/// First cycle in which the decoder has an instruction.
pub(super) const FIRST: Cycle = 2;

/// Time that the decoder held an instruction, and the unit that it waited for.
#[derive(Clone, Copy, Debug)]
pub(super) struct DecoderHold {
    /// Cycle in which the instruction arrived.
    pub(super) from: Cycle,
    /// Cycle in which its last part was taken.
    pub(super) until: Cycle,
    /// Unit that took the last part.
    pub(super) by: Unit,
}

impl DecoderHold {
    /// Returns the number of cycles after the first.
    pub(super) const fn waited(self) -> u64 {
        self.until - self.from
    }

    /// Returns the time as a wait of the decoder; `None` if it did not wait.
    pub(super) fn waiting(self, instruction: usize) -> Option<Waiting> {
        let Self { from: start, until: end, by } = self;
        let (unit, on, cycles) = (Unit::Decoder, by.name(), self.waited());
        (cycles > 0).then_some(Waiting { instruction, unit, on, start, end, cycles })
    }
}
