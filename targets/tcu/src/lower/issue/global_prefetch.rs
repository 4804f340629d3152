//! The whole program once its layers are written: [`Whole::read_ahead`] moves its reads over layers.

use std::ops::Range;

use super::prefetch::{Pace, Room, ahead};
use crate::clock::Meter;
use crate::isa::op::{Memory, Op};
use crate::program::Usage;

/// Vectors that a bank is still to read when the next ones are asked for: each is tried.
const LEADS: [u64; 5] = [0, 16, 32, 64, 128];

/// All instructions of a program.
pub struct Whole {
    /// In order.
    pub ops: Vec<Op>,
    /// Those of each layer.
    pub layers: Vec<Range<usize>>,
    /// What they take by the clock.
    pub cycles: u64,
    /// What they use of local memory.
    pub local: Usage,
}

impl Whole {
    /// Moves reads of DRAM to where the program takes least, by the clock before it. A layer then holds reads for those after
    /// it. What is read lies in `arena`.
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

/// Where the instructions before place `end` of the old order end in the new one. Reads for those behind come after it, as far
/// as they stand together.
fn ordered_end(ordered: &[(Op, usize)], end: usize) -> usize {
    let stays = |&(op, place): &(Op, usize)| place < end && !op.is_read_of_dram();
    ordered.iter().rposition(stays).map_or(0, |last| last + 1)
}
