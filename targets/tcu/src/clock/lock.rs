//! The lock of the accumulators' stage, [`Lock`], and the writes that it tracks.

use super::queue::Cycle;

/// A write of one vector to the accumulators.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Write {
    /// Accumulator address of the vector.
    pub(super) address: u64,
    /// Whether the write adds to the old value.
    pub(super) accumulate: bool,
}

/// Lock that keeps the second port from reading while an overwriting write is pending.
///
/// Such a write takes the lock when it reaches the stage. The next write to its address that
/// happens releases it, even an earlier one that was still waiting for its data. Additions do not
/// take the lock. The second port may therefore read a vector before an earlier write to it has
/// happened: [`Lock::is_pending`].
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Lock {
    /// Cycle in which the lock is released.
    given_up: Cycle,
    /// Address and cycle of the last write. Earlier writes have happened when the next one is at
    /// the stage.
    last: (u64, Cycle),
}

impl Lock {
    /// Returns the cycle at which the second port may read.
    pub(super) const fn free(&self) -> Cycle {
        self.given_up + 1
    }

    /// Whether the last write is to `address` and happens too late for a read in cycle `read`.
    pub(super) const fn is_pending(&self, address: u64, read: Cycle) -> bool {
        self.last.0 == address && self.last.1 >= read
    }

    /// Visits the times of the lock. The caller tracks addresses.
    #[inline]
    pub(super) fn times(&mut self, mut visit: impl FnMut(&mut Cycle)) {
        visit(&mut self.given_up);
        visit(&mut self.last.1);
    }

    /// Returns the address of the last write.
    pub(super) const fn last_address(&self) -> u64 {
        self.last.0
    }

    /// Sets the address of the last write after a run was skipped over.
    pub(super) const fn leapt(&mut self, address: u64) {
        self.last.0 = address;
    }

    /// Records a write that is at the stage at `stage` and happens at `at`.
    pub(super) const fn wrote(&mut self, write: Write, stage: Cycle, at: Cycle) {
        if !write.accumulate {
            // While the lock is held for another address, a write in the same cycle is not seen.
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

    /// Returns when the second port may read. An overwriting write of 1 happens in cycle `first`.
    /// Then one of `address` reaches the stage at `stage` and happens in cycle 40.
    fn free(first: u64, address: u64, stage: u64) -> u64 {
        let mut lock = Lock::default();
        lock.wrote(overwrite(1), 5, first);
        lock.wrote(overwrite(address), stage, 40);
        lock.free()
    }

    #[test]
    fn a_pending_write_to_the_same_address_gives_the_lock_up() {
        // The write to address 1 happens in cycle 20, long after the next command has reached the
        // stage.
        assert_eq!(free(20, 1, 6), 21);
        assert_eq!(free(20, 2, 6), 41);
        // The write to address 1 has already happened when the next command reaches the stage.
        assert_eq!(free(20, 1, 21), 41);
        // The write to address 1 happens in the cycle in which the lock is released.
        assert_eq!(free(20, 1, 20), 21);
        assert_eq!(free(20, 1, 19), 21);
    }

    /// An addition to 1 happens in cycle `added`, while the lock is held until 30 for an
    /// overwriting write of 2.
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
        // The lock is released in cycle 30.
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
