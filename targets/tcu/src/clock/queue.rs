//! Queues, as the times at which things enter and leave them: [`Pass`], [`Queue`] and [`ReadPort`].
//!
//! Nothing is stored but cycles. Things are handled in order, each first entering, then leaving, so
//! the room for the next one is known when it comes.

/// A number of cycles since the first beat of the instruction stream.
pub(super) type Cycle = u64;

/// Later than anything that happens. Adding latencies to it does not overflow.
pub(super) const NEVER: Cycle = 1 << 60;

/// A queue that hands on in the cycle of entry when it is empty, and takes in the cycle in which
/// it gives when it is full. Each thing is offered after the one before it entered.
#[derive(Clone, Debug)]
pub(super) struct Pass {
    /// When the last things that left did so; as many as fit into the queue.
    left: Box<[Cycle]>,
    oldest: usize,
}

impl Pass {
    pub(super) fn new(depth: usize) -> Self {
        Self { left: vec![0; depth.max(1)].into(), oldest: 0 }
    }

    /// From when on there is room for the next thing.
    pub(super) fn room(&self) -> Cycle {
        self.left[self.oldest]
    }

    /// When a thing offered from `offered` on enters; it may leave in the same cycle.
    pub(super) fn enter(&self, offered: Cycle) -> Cycle {
        offered.max(self.room())
    }

    /// The thing that entered last leaves.
    pub(super) fn leave(&mut self, at: Cycle) {
        self.left[self.oldest] = at;
        self.oldest = if self.oldest + 1 < self.left.len() { self.oldest + 1 } else { 0 };
    }

    /// What it keeps, the oldest first.
    pub(super) fn times(&mut self, visit: impl FnMut(&mut Cycle)) {
        self.left.rotate_left(std::mem::take(&mut self.oldest));
        self.left.iter_mut().for_each(visit);
    }
}

/// A [`Pass`] for one thing.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Slot {
    left: Cycle,
}

impl Slot {
    /// When a thing offered from `offered` on enters; it may leave in the same cycle.
    pub(super) fn enter(&self, offered: Cycle) -> Cycle {
        offered.max(self.left)
    }

    /// The thing in it leaves.
    pub(super) const fn leave(&mut self, at: Cycle) {
        self.left = at;
    }

    /// What it keeps.
    #[inline]
    pub(super) fn times(&mut self, mut visit: impl FnMut(&mut Cycle)) {
        visit(&mut self.left);
    }
}

/// A queue of two that hands on one cycle after entry and takes one cycle after it gave.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Queue {
    left: [Cycle; 2],
    entered: Cycle,
}

impl Queue {
    /// When a thing offered from `offered` on enters; it may leave one cycle later.
    pub(super) fn enter(&mut self, offered: Cycle) -> Cycle {
        self.entered = offered.max(self.room()).max(self.entered + 1);
        self.entered
    }

    /// From when on there is room for the next thing.
    pub(super) const fn room(&self) -> Cycle {
        self.left[0] + 1
    }

    /// What it keeps.
    #[inline]
    pub(super) fn times(&mut self, mut visit: impl FnMut(&mut Cycle)) {
        self.left.iter_mut().for_each(&mut visit);
        visit(&mut self.entered);
    }

    /// The thing that entered last leaves.
    pub(super) const fn leave(&mut self, at: Cycle) {
        self.left = [self.left[1], at];
    }
}

/// A port of a memory: one access a cycle, in order; a read gives its data one cycle later, into a
/// queue of three of which reads see two.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct ReadPort {
    /// The last access.
    accessed: Cycle,
    /// The last read.
    read: Cycle,
    /// When the data of the last three reads left the queue, oldest first.
    left: [Cycle; 3],
}

impl ReadPort {
    /// When a read asked for from `asked` on happens. Its data can leave one cycle later.
    ///
    /// The queue counts what it holds at the start of the cycle, which the read of the cycle before
    /// is not part of.
    pub(super) fn read(&mut self, asked: Cycle) -> Cycle {
        let asked = asked.max(self.accessed + 1);
        let next = self.read + 1;
        let fits_next = asked <= next && self.left[0] < next;
        // A read that does not follow the last one at once comes later, by what it is asked for or by room.
        self.read = if fits_next { next } else { asked.max(self.left[1] + 1) };
        // Only the very first read can come before any other.
        self.accessed = self.read;
        self.read
    }

    /// When the data of the last read can leave the queue, after those before.
    pub(super) fn datum(&self) -> Cycle {
        self.read.max(self.left[2]) + 1
    }

    /// The data of the last read leave the queue.
    pub(super) const fn leave(&mut self, at: Cycle) {
        self.left = [self.left[1], self.left[2], at];
    }

    /// The last access.
    pub(super) const fn last(&self) -> Cycle {
        self.accessed
    }

    /// What it keeps.
    #[inline]
    pub(super) fn times(&mut self, mut visit: impl FnMut(&mut Cycle)) {
        visit(&mut self.accessed);
        visit(&mut self.read);
        self.left.iter_mut().for_each(visit);
    }

    /// When a read could happen at the earliest.
    pub(super) fn room(mut self) -> Cycle {
        self.read(0)
    }

    /// When a write can happen at the earliest.
    pub(super) const fn free(&self) -> Cycle {
        self.accessed + 1
    }

    /// A write happens.
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
        /// The port cycle by cycle: a read happens when the queue shows less than two data, of those read two
        /// cycles before or earlier that had not left before this cycle.
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
