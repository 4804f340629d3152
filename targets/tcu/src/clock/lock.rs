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

    /// What it keeps. Addresses are the caller's to know.
    #[inline]
    pub(super) fn times(&mut self, mut visit: impl FnMut(&mut Cycle)) {
        visit(&mut self.given_up);
        visit(&mut self.last.1);
    }

    /// The address of the last write.
    pub(super) const fn last_address(&self) -> u64 {
        self.last.0
    }

    /// The address of the last write, which has been leapt to.
    pub(super) const fn leapt(&mut self, address: u64) {
        self.last.0 = address;
    }

    /// The write that is at the stage from `stage` on happens at `at`.
    pub(super) const fn wrote(&mut self, write: Write, stage: Cycle, at: Cycle) {
        if !write.accumulate {
            // A write in the very cycle is not seen while the lock is still held for another.
            let held = stage < self.given_up;
            let early = self.is_pending(write.address, if held { stage + 1 } else { stage });
            self.given_up = if early { self.last.1 } else { at };
        }
        self.last = (write.address, at);
    }
}

#[cfg(test)]
mod tests {
    use super::{Lock, Write};

    const fn overwrite(address: u64) -> Write {
        Write { address, accumulate: false }
    }

    /// A lock with an overwriting write of 1 in cycle `first`, then one of `address` that is at the stage from
    /// `stage` on and happens in cycle 40: when the second port may read.
    fn free(first: u64, address: u64, stage: u64) -> u64 {
        let mut lock = Lock::default();
        lock.wrote(overwrite(1), 5, first);
        lock.wrote(overwrite(address), stage, 40);
        lock.free()
    }

    #[test]
    fn a_pending_write_to_the_same_address_gives_the_lock_up() {
        // The write to 1 happens in cycle 20, when the next one has long been at the stage.
        assert_eq!(free(20, 1, 6), 21);
        assert_eq!(free(20, 2, 6), 41);
        // It has happened before.
        assert_eq!(free(20, 1, 21), 41);
        // It happens in the very cycle, in which the lock is given up.
        assert_eq!(free(20, 1, 20), 21);
        assert_eq!(free(20, 1, 19), 21);
    }

    /// An addition to 1 happens in cycle `added`, while the lock is held until 30 for an overwriting write of 2.
    fn free_behind_an_addition(added: u64, stage: u64) -> u64 {
        let mut lock = Lock::default();
        lock.wrote(overwrite(2), 5, 30);
        lock.wrote(Write { address: 1, accumulate: true }, 6, added);
        lock.wrote(overwrite(1), stage, 40);
        lock.free()
    }

    #[test]
    fn a_write_in_the_very_cycle_is_not_seen_while_the_lock_is_held_for_another() {
        assert_eq!(free_behind_an_addition(20, 20), 41);
        assert_eq!(free_behind_an_addition(21, 20), 22);
        // The lock is given up in cycle 30.
        assert_eq!(free_behind_an_addition(30, 30), 31);
        assert_eq!(free_behind_an_addition(31, 31), 32);
    }

    #[test]
    fn additions_do_not_take_the_lock_but_are_pending() {
        let mut lock = Lock::default();
        lock.wrote(Write { address: 3, accumulate: true }, 5, 20);
        assert_eq!(lock.free(), 1);
        assert!(lock.is_pending(3, 20) && !lock.is_pending(3, 21) && !lock.is_pending(4, 20));
    }
}
