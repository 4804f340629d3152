//! Result of a [`super::Clock`] run: [`Timeline`].

use super::hang::Hang;
use super::signal::Signal;
use super::stall::Stalls;
use super::unit::Unit;
use crate::clock::held::{DecoderHold, FIRST};
use crate::clock::moved_writes::MovedWrites;
use crate::machine::losing::LostWrite;

/// Cycles of the last events of each kind; 0 if there was none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LastEvents {
    /// Write to the accumulators.
    pub accumulator_write: u64,
    /// Write to local memory, by either port.
    pub local_write: u64,
    /// Beat written to a bank.
    pub axi_write: u64,
    /// Shift of weights.
    pub weight_load: u64,
    /// Response to a write; it does not count for the total.
    pub write_response: u64,
}

impl LastEvents {
    /// Returns the latest event that is part of the total.
    pub(super) fn latest(&self) -> u64 {
        self.accumulator_write.max(self.local_write).max(self.axi_write).max(self.weight_load)
    }
}

/// Work done by the units: number of cycles in which each was used.
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

/// Bus traffic of a bank.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Number of read bursts.
    pub read_bursts: u64,
    /// Number of read beats.
    pub read_beats: u64,
    /// Number of write bursts.
    pub write_bursts: u64,
    /// Number of write beats.
    pub write_beats: u64,
}

impl Traffic {
    pub(super) const fn new([read_bursts, read_beats, write_bursts, write_beats]: [u64; 4]) -> Self {
        Self { read_bursts, read_beats, write_bursts, write_beats }
    }
}

/// Timing of a program: when its instructions were accepted, and the work, waits and hazards of the
/// units.
///
/// Cycle 0 is the first beat of the instruction stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timeline {
    /// Cycle of the last event that counts, or the cycle after the last acceptance if that is
    /// later.
    pub total: u64,
    /// For each instruction, the cycle in which the decoder accepted it; shorter than the program
    /// after a hang.
    pub accept: Vec<u64>,
    /// Cycles of the last events.
    pub last: LastEvents,
    /// Work of the units.
    pub busy: Busy,
    /// Bus traffic of DRAM0 and DRAM1.
    pub traffic: [Traffic; 2],
    /// For each unit of [`Unit::ALL`], cycles after the first in which the decoder held an
    /// instruction for it.
    pub waits: [u64; Unit::ALL.len()],
    /// Stalls of the units other than DRAM.
    pub stalls: Stalls,
    /// Stalls of DRAM0 and DRAM1.
    pub dram_stalls: [Stalls; 2],
    /// Accumulator writes that hardware loses because of a directly following addition.
    pub lost: Vec<LostWrite>,
    /// Configures of offsets that move earlier writes.
    pub moved: Vec<MovedWrites>,
    /// Timeout flag.
    pub timeout: Signal,
    /// Tracepoint flag.
    pub tracepoint: Signal,
    /// Where the program hangs; `None` if it ends.
    pub hang: Option<Hang>,
}

impl Timeline {
    /// Records that the decoder accepted the next instruction.
    pub(super) fn accepted(&mut self, held: DecoderHold) {
        self.accept.push(held.until);
        if let Some(sum) = self.waits.get_mut(held.by as usize) {
            *sum += held.waited();
        }
    }

    /// Returns the cycles of each instruction: those since the previous one was accepted. The first
    /// one includes the cycles before it arrived. The last one includes those in which units finish
    /// their work. The sum is therefore [`Self::total`].
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

    /// Returns the cycles before the first instruction arrived.
    pub fn starting(&self) -> u64 {
        if self.accept.is_empty() { 0 } else { FIRST }
    }

    /// Returns the cycles after the last instruction was accepted.
    pub fn finishing(&self) -> u64 {
        self.accept.last().map_or(0, |accept| self.total.saturating_sub(accept + 1))
    }

    /// Returns the stalls of all units except the decoder: the unit, the cause of the wait, and the
    /// cycles.
    pub fn stalls(&self) -> impl Iterator<Item = (Unit, &'static str, u64)> {
        let [dram0, dram1] = &self.dram_stalls;
        let dram0 = dram0.list_of_bank(Unit::Dram0Read, Unit::Dram0Write);
        let dram1 = dram1.list_of_bank(Unit::Dram1Read, Unit::Dram1Write);
        self.stalls.list().chain(dram0).chain(dram1)
    }

    /// Returns the number of cycles in which a unit worked.
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
