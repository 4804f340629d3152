//! What a [`super::Clock`] found: [`Timeline`].

use super::hang::Hang;
use super::signal::Signal;
use super::stall::Stalls;
use super::unit::Unit;
use crate::clock::held::{FIRST, Held};
use crate::clock::moved_writes::MovedWrites;
use crate::machine::losing::LostWrite;

/// The cycles of the last events of each kind; 0 when there was none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LastEvents {
    /// A write to the accumulators.
    pub accumulator_write: u64,
    /// A write to local memory, by either port.
    pub local_write: u64,
    /// A beat written to a bank.
    pub axi_write: u64,
    /// A shift of the weights.
    pub weight_load: u64,
    /// A response to a write. It does not count for the total.
    pub write_response: u64,
}

impl LastEvents {
    /// The last of those that count for the total.
    pub(super) fn latest(&self) -> u64 {
        self.accumulator_write.max(self.local_write).max(self.axi_write).max(self.weight_load)
    }
}

/// Work done, in cycles of the unit that does it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Busy {
    /// Rows computed by the array.
    pub array_rows: u64,
    /// Rows of weights shifted.
    pub weight_rows: u64,
    /// Vectors read from or written to the accumulators.
    pub accumulator_accesses: u64,
    /// SIMD instructions.
    pub simd_operations: u64,
    /// Vectors moved between local memory and DRAM.
    pub dram_vectors: u64,
    /// Vectors read and written through local memory's port A.
    pub local_a_accesses: u64,
}

/// What crossed the bus of a bank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Read bursts.
    pub read_bursts: u64,
    /// Read beats.
    pub read_beats: u64,
    /// Write bursts.
    pub write_bursts: u64,
    /// Write beats.
    pub write_beats: u64,
}

impl Traffic {
    pub(super) const fn new([read_bursts, read_beats, write_bursts, write_beats]: [u64; 4]) -> Self {
        Self { read_bursts, read_beats, write_bursts, write_beats }
    }
}

/// When a program's instructions were accepted, and what else happened.
///
/// Cycles count from the first beat of the instruction stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// The last event that counts, or the cycle after the last acceptance if that is later.
    pub total: u64,
    /// By instruction, when the decoder was done with it; shorter than the program after a hang.
    pub accept: Vec<u64>,
    /// The last events.
    pub last: LastEvents,
    /// Work of the units.
    pub busy: Busy,
    /// Of DRAM0 and DRAM1.
    pub traffic: [Traffic; 2],
    /// By [`Unit::ALL`], cycles beyond the first that the decoder held an instruction for that unit.
    pub waits: [u64; Unit::ALL.len()],
    /// What units waited for, DRAM apart.
    pub stalls: Stalls,
    /// What DRAM0 and DRAM1 waited for.
    pub dram_stalls: [Stalls; 2],
    /// Writes to the accumulators that an addition right after them makes the hardware lose.
    pub lost: Vec<LostWrite>,
    /// Configures of offsets that move writes before them.
    pub moved: Vec<MovedWrites>,
    /// The timeout flag.
    pub timeout: Signal,
    /// The tracepoint flag.
    pub tracepoint: Signal,
    /// Where the program hangs, if it does.
    pub hang: Option<Hang>,
}

impl Timeline {
    /// The decoder is done with the next instruction.
    pub(super) fn accepted(&mut self, held: Held) {
        self.accept.push(held.until);
        if let Some(sum) = self.waits.get_mut(held.by as usize) {
            *sum += held.waited();
        }
    }

    /// Cycles of each instruction: those since the one before it was accepted. The first one has the
    /// cycles before it was there, the last one those in which units still finish their work, so that
    /// the sum is [`Self::total`].
    pub fn cycles(&self) -> impl Iterator<Item = u64> {
        let last = self.accept.len().saturating_sub(1);
        let mut before = 0;
        self.accept.iter().enumerate().map(move |(i, accept)| {
            let end = if i == last { self.total } else { accept + 1 };
            let cycles = end - before;
            before = end;
            cycles
        })
    }

    /// Cycles before the first instruction was there.
    pub fn starting(&self) -> u64 {
        if self.accept.is_empty() { 0 } else { FIRST }
    }

    /// Cycles after the last instruction was accepted.
    pub fn finishing(&self) -> u64 {
        self.accept.last().map_or(0, |accept| self.total.saturating_sub(accept + 1))
    }

    /// Who waited for what how long, the decoder apart.
    pub fn stalls(&self) -> impl Iterator<Item = (Unit, &'static str, u64)> {
        let [dram0, dram1] = &self.dram_stalls;
        let dram0 = dram0.list_of_bank(Unit::Dram0Read, Unit::Dram0Write);
        let dram1 = dram1.list_of_bank(Unit::Dram1Read, Unit::Dram1Write);
        self.stalls.list().chain(dram0).chain(dram1)
    }

    /// Cycles in which a unit did work.
    pub fn busy(&self, unit: Unit) -> u64 {
        let [dram0, dram1] = &self.traffic;
        match unit {
            Unit::Decoder => self.accept.len() as u64,
            Unit::LocalA => self.busy.local_a_accesses,
            Unit::Router => 0,
            Unit::Array => self.busy.array_rows + self.busy.weight_rows,
            Unit::Accumulator => self.busy.accumulator_accesses,
            Unit::Alu => self.busy.simd_operations,
            Unit::LocalB => self.busy.dram_vectors,
            Unit::Dram0Read => dram0.read_beats,
            Unit::Dram0Write => dram0.write_beats,
            Unit::Dram1Read => dram1.read_beats,
            Unit::Dram1Write => dram1.write_beats,
        }
    }
}
