//! The lock of the accumulators' stage: [`Lock`], and the writes that it and the second port watch.

use super::queue::Cycle;

/// A write of a vector to the accumulators.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Write {
    /// Of the vector.
    pub(super) address: u64,
    /// Whether it adds to what is there.
    pub(super) accumulate: bool,
}

/// Keeps the second port from reading while an overwriting write is on its way.
///
/// Such a write takes the lock as it reaches the stage, and the first write to its address from then on gives it
/// up: be it the write before, which may still wait for its datum. Additions do not take it. So the second port may
/// read a vector before what comes first has been written: [`Lock::is_pending`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lock {
    /// When the last overwriting write reached the stage.
    taken: Cycle,
    /// When the lock is given up.
    given_up: Cycle,
    /// The last write and when it happens. Those before it have happened when the next one is at the stage.
    last: (u64, Cycle),
}

impl Lock {
    /// From when on the second port reads.
    pub(super) const fn free(&self) -> Cycle {
        self.given_up + 1
    }

    /// Whether the last write is to `address` and happens too late for a read in cycle `read`.
    pub(super) const fn is_pending(&self, address: u64, read: Cycle) -> bool {
        self.last.0 == address && self.last.1 >= read
    }

    /// The write that is at the stage from `stage` on happens at `at`.
    pub(super) const fn wrote(&mut self, write: Write, stage: Cycle, at: Cycle) {
        if !write.accumulate {
            // A write in the very cycle is not seen while the lock is still held for another.
            let held = self.taken < stage && stage < self.given_up;
            let early = self.is_pending(write.address, if held { stage + 1 } else { stage });
            (self.taken, self.given_up) = (stage, if early { self.last.1 } else { at });
        }
        self.last = (write.address, at);
    }
}
