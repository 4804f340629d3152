//! Prefetch over the whole program: [`Whole::read_ahead`] moves DRAM reads across layers once all
//! layers are written.

use std::ops::Range;

use super::prefetch::{Pace, Room, ahead};
use crate::clock::Meter;
use crate::isa::op::{Memory, Op};
use crate::program::Usage;

/// Lead times to try: vectors that a bank still has to read when the next read is issued.
const LEADS: [u64; 5] = [0, 16, 32, 64, 128];

/// Instructions of a whole program.
pub struct Whole {
    /// Instructions in issue order.
    pub ops: Vec<Op>,
    /// Instruction range of each layer.
    pub layers: Vec<Range<usize>>,
    /// Number of cycles of the program by the clock.
    pub cycles: u64,
    /// Usage of local memory.
    pub local: Usage,
}

impl Whole {
    /// Moves DRAM reads to where the program takes the fewest cycles. `clock` is the clock before
    /// the program. A layer may then contain reads for later layers. Prefetched data is placed in
    /// `arena`.
    pub fn read_ahead(&mut self, clock: &Meter, arena: &Range<u64>) {
        let (beats, latency) = clock.reads();
        let paces = LEADS.map(|lead| Pace { beats, latency, lead: lead * beats });
        let orders = ahead(&self.ops, Room::Within(arena), paces).map(|ordered| {
            let mut meter = clock.clone();
            ordered.iter().for_each(|(op, _)| meter.push(op));
            (meter.cycles(), ordered)
        });
        let quickest = orders.min_by_key(|&(cycles, _)| cycles);
        if let Some((cycles, ordered)) = quickest.filter(|&(cycles, _)| cycles < self.cycles) {
            self.cycles = cycles;
            self.reorder(&ordered);
        }
    }

    fn reorder(&mut self, ordered: &[(Op, usize)]) {
        let ends = self.layers.iter().map(|layer| ordered_end(ordered, layer.end));
        let mut start = 0;
        self.layers = ends.map(|end| std::mem::replace(&mut start, end)..end).collect();
        self.ops = ordered.iter().map(|&(op, _)| op).collect();
        let written = self.ops.iter().filter_map(|op| {
            let flow = op.flow();
            Some(flow.written(Memory::Local)?.span(flow.size).end)
        });
        self.local.maximum = written.fold(self.local.maximum, u64::max);
    }
}

/// Returns the position in the new order where the instructions before `end` in the old order end.
/// Contiguous reads for later instructions come after it.
fn ordered_end(ordered: &[(Op, usize)], end: usize) -> usize {
    let stays = |&(op, place): &(Op, usize)| place < end && !op.is_read_of_dram();
    ordered.iter().rposition(stays).map_or(0, |last| last + 1)
}
