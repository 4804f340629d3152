//! Queues, represented by the times at which entries enter and leave: [`Pass`], [`Queue`] and
//! [`ReadPort`].
//!
//! Only cycles are stored. Entries are handled in order, and each enters and leaves before the next
//! is considered. The room for the next entry is therefore known when it arrives.

/// Number of cycles since the first beat of the instruction stream.
pub(super) type Cycle = u64;

/// Later than any event. Adding latencies to it does not overflow.
pub(super) const NEVER: Cycle = 1 << 60;

/// A fall-through queue. If it is empty, an entry can leave in the cycle in which it enters. If it
/// is full, it accepts an entry in the cycle in which another leaves. Each entry is offered after
/// the previous one has entered.
#[derive(Clone, Debug)]
pub(super) struct Pass {
    /// Cycles at which the last entries left; one per place of the queue.
    left: Box<[Cycle]>,
    oldest: usize,
}

impl Pass {
    pub(super) fn new(depth: usize) -> Self {
        Self { left: vec![0; depth.max(1)].into(), oldest: 0 }
    }

    /// Returns the cycle at which there is room for the next entry.
    pub(super) fn room(&self) -> Cycle {
        self.left[self.oldest]
    }

    /// Returns when an entry offered at `offered` enters; it may leave in the same cycle.
    pub(super) fn enter(&self, offered: Cycle) -> Cycle {
        offered.max(self.room())
    }

    /// Removes the entry that entered last, at `at`.
    pub(super) fn leave(&mut self, at: Cycle) {
        self.left[self.oldest] = at;
        self.oldest = if self.oldest + 1 < self.left.len() { self.oldest + 1 } else { 0 };
    }

    /// Visits the stored times, oldest first.
    pub(super) fn times(&mut self, visit: impl FnMut(&mut Cycle)) {
        self.left.rotate_left(std::mem::take(&mut self.oldest));
        self.left.iter_mut().for_each(visit);
    }
}

/// A [`Pass`] for one entry.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slot {
    left: Cycle,
}

impl Slot {
    /// Returns when an entry offered at `offered` enters; it may leave in the same cycle.
    pub(super) fn enter(&self, offered: Cycle) -> Cycle {
        offered.max(self.left)
    }

    /// Removes the entry at `at`.
    pub(super) const fn leave(&mut self, at: Cycle) {
        self.left = at;
    }

    /// Visits the stored time.
    #[inline]
    pub(super) fn times(&mut self, mut visit: impl FnMut(&mut Cycle)) {
        visit(&mut self.left);
    }
}

/// A registered two-entry queue: an entry leaves at least one cycle after it enters, and its place
/// is free one cycle after it leaves.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Queue {
    left: [Cycle; 2],
    entered: Cycle,
}

impl Queue {
    /// Returns when an entry offered at `offered` enters; it may leave one cycle later.
    pub(super) fn enter(&mut self, offered: Cycle) -> Cycle {
        self.entered = offered.max(self.room()).max(self.entered + 1);
        self.entered
    }

    /// Returns the cycle at which there is room for the next entry.
    pub(super) const fn room(&self) -> Cycle {
        self.left[0] + 1
    }

    /// Visits the stored times.
    #[inline]
    pub(super) fn times(&mut self, mut visit: impl FnMut(&mut Cycle)) {
        self.left.iter_mut().for_each(&mut visit);
        visit(&mut self.entered);
    }

    /// Removes the entry that entered last, at `at`.
    pub(super) const fn leave(&mut self, at: Cycle) {
        self.left = [self.left[1], at];
    }
}

/// A port of a memory with one access per cycle, in order. A read returns its data one cycle later,
/// into a three-entry queue; reads see two of its entries.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReadPort {
    /// Cycle of the last access.
    accessed: Cycle,
    /// Cycle of the last read.
    read: Cycle,
    /// Cycles at which the data of the last three reads left the queue, oldest first.
    left: [Cycle; 3],
}

impl ReadPort {
    /// Returns when a read requested at `asked` happens. Its data can leave one cycle later.
    ///
    /// The queue's fill level is that at the start of the cycle; it does not include the read of
    /// the previous cycle.
    pub(super) fn read(&mut self, asked: Cycle) -> Cycle {
        let asked = asked.max(self.accessed + 1);
        let next = self.read + 1;
        let fits_next = asked <= next && self.left[0] < next;
        // A read directly after the previous one is not delayed. Any other read waits for its
        // request or for the queue.
        self.read = if fits_next { next } else { asked.max(self.left[1] + 1) };
        // Only the first of all reads can come before the first other access.
        self.accessed = self.read;
        self.read
    }

    /// Returns when the data of the last read can leave the queue, after earlier data.
    pub(super) fn datum(&self) -> Cycle {
        self.read.max(self.left[2]) + 1
    }

    /// Removes the data of the last read from the queue at `at`.
    pub(super) const fn leave(&mut self, at: Cycle) {
        self.left = [self.left[1], self.left[2], at];
    }

    /// Returns the cycle of the last access.
    pub(super) const fn last(&self) -> Cycle {
        self.accessed
    }

    /// Visits the stored times.
    #[inline]
    pub(super) fn times(&mut self, mut visit: impl FnMut(&mut Cycle)) {
        visit(&mut self.accessed);
        visit(&mut self.read);
        self.left.iter_mut().for_each(visit);
    }

    /// Returns the earliest cycle of a read.
    pub(super) fn room(mut self) -> Cycle {
        self.read(0)
    }

    /// Returns the earliest cycle of a write.
    pub(super) const fn free(&self) -> Cycle {
        self.accessed + 1
    }

    /// Records a write at `at`.
    pub(super) const fn write(&mut self, at: Cycle) {
        self.accessed = at;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{Cycle, Pass, Queue, ReadPort, Slot};

    #[test]
    fn a_queue_has_room_when_what_is_as_far_before_as_it_is_long_has_left() {
        let (mut pass, mut slot, mut pair) = (Pass::new(3), Slot::default(), Pass::new(2));
        let mut queue = Queue::default();
        let mut entered = Vec::new();
        for (offered, left) in [(5, 20), (6, 30), (7, 40), (8, 50)] {
            entered.push([
                pass.enter(offered),
                slot.enter(offered),
                pair.enter(offered),
                queue.enter(offered),
            ]);
            pass.leave(left);
            slot.leave(left);
            pair.leave(left);
            queue.leave(left);
        }
        assert_eq!(entered, [[5, 5, 5, 5], [6, 20, 6, 6], [7, 30, 20, 21], [20, 40, 30, 31]]);
        assert_eq!((pass.room(), queue.room()), (30, 41));
    }

    #[test]
    fn one_thing_a_cycle_enters_a_queue() {
        let mut queue = Queue::default();
        let entered = [9, 9, 9].map(|offered| {
            let entered = queue.enter(offered);
            queue.leave(entered + 1);
            entered
        });
        assert_eq!(entered, [9, 10, 11]);
    }

    proptest! {
        /// Simulates the port cycle by cycle. A read happens if the queue shows fewer than two
        /// entries: data read at least two cycles earlier that had not left before this cycle.
        #[test]
        fn reads_wait_until_the_queue_shows_less_than_two(
            steps in prop::collection::vec((0_u64..6, 0_u64..12), 1..40)
        ) {
            let mut port = ReadPort::default();
            let mut reads: Vec<(Cycle, Cycle)> = Vec::new();
            for (later, held) in steps {
                let asked = reads.last().map_or(1, |(read, _)| *read) + later;
                let shown = |at: Cycle| reads.iter().filter(|(read, left)| read + 2 <= at && *left >= at).count();
                let first = asked.max(reads.last().map_or(1, |(read, _)| read + 1));
                let expected = (first..).find(|at| shown(*at) < 2).unwrap_or_default();
                prop_assert_eq!(port.read(asked), expected);
                let datum = reads.last().map_or(0, |(_, left)| left + 1).max(expected + 1);
                prop_assert_eq!(port.datum(), datum);
                port.leave(datum + held);
                reads.push((expected, datum + held));
            }
            let (last, _) = reads[reads.len() - 1];
            prop_assert_eq!((port.last(), port.free()), (last, last + 1));
        }
    }

    #[test]
    fn the_port_says_when_a_read_could_happen_and_stays_as_it_is() {
        let mut port = ReadPort::default();
        port.write(7);
        assert_eq!((port.room(), port.room()), (8, 8));
        assert_eq!(port.read(0), 8);
    }
}
