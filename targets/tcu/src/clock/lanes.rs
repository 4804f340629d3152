//! Queues in front of local memory: [`Lanes`]. A run waits for earlier runs that touch the same
//! vectors.
//!
//! Each instruction has at most one run of local memory, which enters the lane of its user. The
//! array's side has port A to itself. The other lanes share port B, where the oldest run has
//! priority: an access never waits for one of a later run. Runs of a lane execute one after
//! another. A run also waits for older runs of other lanes that touch one of its vectors, if one of
//! the two writes.

use std::collections::{BTreeMap, VecDeque};
use std::ops::RangeInclusive;

use super::host::PortB;
use super::queue::{Cycle, NEVER};
use crate::config::Overlap;
use crate::isa::op::Strided;

/// User of a run of local memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lane {
    /// Array rows, and moves to and from the accumulators, through port A.
    Array,
    /// Transfers of DRAM0, through port B.
    Dram0,
    /// Transfers of DRAM1, through port B.
    Dram1,
    /// Weights that are loaded while others are in use, through port B.
    Weights,
}

impl Lane {
    const COUNT: usize = 4;
    /// Lanes of the DRAM banks.
    pub(super) const BANKS: [Self; 2] = [Self::Dram0, Self::Dram1];
}

/// Vectors of local memory that a run touches.
#[derive(Clone, Debug)]
pub(super) struct Touch {
    vectors: RangeInclusive<u64>,
    writes: bool,
}

impl Touch {
    /// Creates the run of `size` vectors. A run that wraps around the address space of `mask`
    /// touches all of it.
    pub(super) fn new(run: Strided, size: u64, mask: u64, writes: bool) -> Self {
        // Default: a stride that shifts all bits out wraps around.
        let span = (size - 1).checked_mul(1_u64.checked_shl(run.stride_log2).unwrap_or(u64::MAX));
        let last = span.and_then(|span| run.address.checked_add(span)).filter(|&last| last <= mask);
        let vectors = last.map_or(0..=mask, |last| run.address..=last);
        Self { vectors, writes }
    }

    fn meets(&self, other: &Self) -> bool {
        (self.writes || other.writes)
            && self.vectors.start() <= other.vectors.end()
            && other.vectors.start() <= self.vectors.end()
    }
}

/// All queues, and the cycles in which port B is used.
#[derive(Clone, Debug)]
pub(super) struct Lanes {
    overlap: Overlap,
    /// For each lane, its last runs, up to the queue's depth, with their last accesses.
    runs: [VecDeque<(Touch, Cycle)>; Lane::COUNT],
    /// Port state of the lanes that share port B.
    ports: [LanePort; Lane::COUNT],
    port_b: Taken,
}

impl Lanes {
    /// Creates empty queues for an instance with `overlap`.
    pub(super) fn new(overlap: Overlap) -> Self {
        Self { overlap, runs: Default::default(), ports: Default::default(), port_b: Taken::default() }
    }

    /// Returns the depth of a lane's queue.
    const fn depth(&self, lane: Lane) -> usize {
        match lane {
            Lane::Array => self.overlap.local_queue_depth,
            _ => self.overlap.shared_depth(),
        }
    }

    /// Queues a run offered at `head`. Returns when it enters its queue, and its earliest first
    /// access.
    pub(super) fn enter(&mut self, lane: Lane, head: Cycle, touch: &Touch) -> (Cycle, Cycle) {
        let own = &self.runs[lane as usize];
        let room = if own.len() < self.depth(lane) { 0 } else { own[0].1 + 1 };
        let entered = head.max(room);
        let is_bank = |lane: usize| Lane::BANKS.iter().any(|&bank| bank as usize == lane);
        let mut from = entered + 1;
        for (other, runs) in self.runs.iter().enumerate().filter(|&(other, _)| other != lane as usize) {
            let all = !self.overlap.overlapped_dram && is_bank(lane as usize) && is_bank(other);
            for (run, last) in runs {
                if all || run.meets(touch) {
                    from = from.max(last + 1);
                }
            }
        }
        self.port_b.forget(head);
        (entered, from)
    }

    /// Ends the run that entered last; its last access is at `at`.
    pub(super) fn leave(&mut self, lane: Lane, touch: Touch, at: Cycle) {
        let depth = self.depth(lane);
        let runs = &mut self.runs[lane as usize];
        if runs.len() == depth {
            runs.pop_front();
        }
        runs.push_back((touch, at));
    }

    /// Returns a lane's side of port B, for a run that can begin at `from`.
    pub(super) fn side(&mut self, lane: Lane, from: Cycle) -> Side<'_> {
        Side { port: &mut self.ports[lane as usize], taken: &mut self.port_b, from, first: NEVER, vectors: 0 }
    }

    /// Returns the cycle of the last write through port B.
    pub(super) fn written(&self) -> Cycle {
        self.ports.iter().map(|port| port.written).fold(0, Cycle::max)
    }
}

/// Port state of a lane: its last access, its last reads, and its last write. Each read has the
/// cycle at which it left the three-entry queue after the port.
#[derive(Clone, Debug, Default)]
struct LanePort {
    accessed: Cycle,
    reads: [(Cycle, Cycle); 3],
    written: Cycle,
}

impl LanePort {
    /// Whether a read may happen at `at`: the queue shows fewer than two entries, not counting the
    /// read of the previous cycle.
    fn has_room(&self, at: Cycle) -> bool {
        self.reads.iter().filter(|&&(read, left)| read + 2 <= at && left >= at && read > 0).count() < 2
    }
}

/// A lane of port B with a run.
pub(super) struct Side<'a> {
    port: &'a mut LanePort,
    taken: &'a mut Taken,
    from: Cycle,
    /// Cycle of the first access.
    pub(super) first: Cycle,
    /// Number of accesses.
    pub(super) vectors: u64,
}

impl PortB for Side<'_> {
    fn read(&mut self) {
        let mut at = self.from.max(self.port.accessed + 1);
        loop {
            if !self.port.has_room(at) {
                // The second of the last three reads must leave first. A read that is not yet
                // visible does not delay.
                let shown = self.port.reads[2].0 + 2;
                at = if at >= shown { (at + 1).max(self.port.reads[1].1 + 1) } else { at + 1 };
                continue;
            }
            let free = self.taken.free(at);
            if free == at {
                break;
            }
            at = free;
        }
        self.access(at);
        self.port.reads = [self.port.reads[1], self.port.reads[2], (at, NEVER)];
    }

    /// Data leave in order.
    fn datum(&self) -> Cycle {
        self.port.reads[2].0.max(self.port.reads[1].1) + 1
    }

    fn pass(&mut self, at: Cycle) {
        self.port.reads[2].1 = at;
    }

    fn write(&mut self, offered: Cycle) -> Cycle {
        let at = self.taken.free(offered.max(self.from).max(self.port.accessed + 1));
        self.access(at);
        self.port.written = at;
        at
    }

    fn last(&self) -> Cycle {
        self.port.accessed
    }
}

impl Side<'_> {
    fn access(&mut self, at: Cycle) {
        self.taken.take(at);
        self.port.accessed = at;
        self.first = self.first.min(at);
        self.vectors += 1;
    }
}

/// Cycles in which a port is used, as first and last cycles of contiguous ranges.
#[derive(Clone, Debug, Default)]
struct Taken(BTreeMap<Cycle, Cycle>);

impl Taken {
    /// Returns the first unused cycle, starting at `at`.
    fn free(&self, at: Cycle) -> Cycle {
        match self.0.range(..=at).next_back() {
            Some((_, &last)) if last >= at => last + 1,
            _ => at,
        }
    }

    /// Marks an unused cycle as used.
    fn take(&mut self, at: Cycle) {
        if at >= NEVER {
            return;
        }
        let last = self.0.remove(&(at + 1)).unwrap_or(at); // Default: no range follows.
        match self.0.range_mut(..at).next_back() {
            Some((_, end)) if *end + 1 == at => *end = last,
            _ => _ = self.0.insert(at, last),
        }
    }

    /// Drops ranges before `head`; later requests start at `head`.
    fn forget(&mut self, head: Cycle) {
        while self.0.first_key_value().is_some_and(|(_, &last)| last < head) {
            self.0.pop_first();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn run(address: u64, stride_log2: u32) -> Strided {
        Strided { address, stride_log2 }
    }

    fn touch(address: u64, size: u64, writes: bool) -> Touch {
        Touch::new(run(address, 0), size, 63, writes)
    }

    #[test]
    fn runs_meet_where_one_writes_what_the_other_touches() {
        let reads = touch(10, 5, false);
        assert!(reads.meets(&touch(14, 1, true)) && touch(0, 11, true).meets(&reads));
        assert!(!reads.meets(&touch(14, 1, false)) && !reads.meets(&touch(15, 9, true)));
        // Both runs wrap around. The stride of one of them shifts all bits of the index out.
        assert!(touch(60, 5, true).meets(&reads) && Touch::new(run(60, 64), 2, 63, true).meets(&reads));
        assert_eq!(Touch::new(run(8, 2), 4, 63, true).vectors, 8..=20);
    }

    #[test]
    fn a_run_waits_for_older_ones_that_touch_its_vectors() {
        let mut lanes = Lanes::new(Overlap::ALL);
        let written = touch(0, 4, true);
        assert_eq!(lanes.enter(Lane::Dram1, 10, &written), (10, 11));
        lanes.leave(Lane::Dram1, written, 90);
        assert_eq!(lanes.enter(Lane::Weights, 12, &touch(3, 1, false)), (12, 91));
        assert_eq!(lanes.enter(Lane::Weights, 12, &touch(4, 1, false)), (12, 13));
        // The second run is in the other bank, on an instance that does not overlap transfers.
        let mut lanes = Lanes::new(Overlap { overlapped_dram: false, ..Overlap::ALL });
        lanes.leave(Lane::Dram1, touch(0, 4, true), 90);
        assert_eq!(lanes.enter(Lane::Dram0, 12, &touch(9, 1, true)), (12, 91));
    }

    #[test]
    fn a_full_queue_takes_a_run_a_cycle_after_its_oldest_ended() {
        let mut lanes = Lanes::new(Overlap { local_queue_depth: 2, ..Overlap::ALL });
        lanes.leave(Lane::Array, touch(0, 1, false), 30);
        lanes.leave(Lane::Array, touch(0, 1, false), 40);
        assert_eq!(lanes.enter(Lane::Array, 20, &touch(0, 1, false)), (31, 32));
    }

    /// Port B has one access per cycle; the older run takes its cycles first.
    #[test]
    fn accesses_of_a_later_run_go_between_those_of_an_older_one() {
        let mut lanes = Lanes::new(Overlap::ALL);
        let mut older = lanes.side(Lane::Dram0, 5);
        assert_eq!([5, 7, 8].map(|offered| older.write(offered)), [5, 7, 8]);
        let mut later = lanes.side(Lane::Dram1, 5);
        assert_eq!([5, 5, 5].map(|offered| later.write(offered)), [6, 9, 10]);
        assert_eq!((later.first, later.last(), lanes.written()), (6, 10, 10));
    }

    /// Data stay in the three-entry queue: two visible entries delay the next read.
    #[test]
    fn reads_wait_for_room_behind_them() {
        let mut lanes = Lanes::new(Overlap::ALL);
        let mut side = lanes.side(Lane::Weights, 5);
        let mut reads = Vec::new();
        for left in [20, 21, 22, 23] {
            side.read();
            reads.push((side.last(), side.datum()));
            side.pass(left);
        }
        assert_eq!(reads, [(5, 6), (6, 21), (7, 22), (22, 23)]);
    }
}
