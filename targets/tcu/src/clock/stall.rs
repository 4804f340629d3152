//! Reasons for which units with work wait: [`Stall`].

use super::queue::{Cycle, NEVER};
use super::unit::Unit;

/// Reason for which a unit with work waits. If it waits for several things, the last one to arrive
/// is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stall {
    /// A read of local memory's port A waits for room, since earlier data have not been taken.
    LocalANotTaken,
    /// A write of local memory's port A waits for data from the accumulators.
    LocalAForAccumulators,
    /// A row waits for its data from local memory.
    ArrayForData,
    /// A row waits until the accumulators accept results.
    ArrayForAccumulators,
    /// Weights wait for the results of earlier rows.
    ArrayForResults,
    /// A write to the accumulators waits for the array's result.
    AccumulatorForArray,
    /// A write to the accumulators waits for local memory's data.
    AccumulatorForLocal,
    /// A write to the accumulators waits for the ALUs' result.
    AccumulatorForAlu,
    /// Local memory's port B waits for DRAM to provide or accept data.
    LocalBForDram,
    /// A read waits for memory to answer.
    Latency,
    /// A read waits for the responses of earlier writes.
    Responses,
    /// A read waits because the maximum number of reads is in flight.
    ReadsUnderWay,
    /// A write waits because the maximum number of writes is in flight.
    WritesUnderWay,
}

impl Stall {
    /// Number of kinds of stalls of one bank.
    const KINDS: usize = Self::WritesUnderWay as usize + 1;

    /// Stalls of single units, each with the waiting unit and the text for the cause of the wait.
    /// Stalls of banks are listed below.
    const ALL: [(Self, Unit, &'static str); 9] = [
        (Self::LocalANotTaken, Unit::LocalA, "array or accumulators to take data"),
        (Self::LocalAForAccumulators, Unit::LocalA, "accumulators to give data"),
        (Self::ArrayForData, Unit::Array, "data from local memory"),
        (Self::ArrayForAccumulators, Unit::Array, "accumulators to take results"),
        (Self::ArrayForResults, Unit::Array, "its own results, before new weights"),
        (Self::AccumulatorForArray, Unit::Accumulator, "results from the array"),
        (Self::AccumulatorForLocal, Unit::Accumulator, "data from local memory"),
        (Self::AccumulatorForAlu, Unit::Accumulator, "results from the ALUs"),
        (Self::LocalBForDram, Unit::LocalB, "DRAM to give or take data"),
    ];

    const OF_A_BANK: [(Self, &'static str); 4] = [
        (Self::Latency, "memory to answer"),
        (Self::Responses, "responses to writes"),
        (Self::ReadsUnderWay, "bursts under way"),
        (Self::WritesUnderWay, "bursts under way"),
    ];
}

/// Cycles of each kind of stall.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stalls([u64; Stall::KINDS]);

impl Stalls {
    /// Adds the delay of an event that was possible at `from` and happened at `to`. Waits without
    /// an end are not counted.
    #[inline]
    pub(super) fn add(&mut self, stall: Stall, from: Cycle, to: Cycle) {
        if to > from && to < NEVER {
            self.0[stall as usize] += to - from;
        }
    }

    /// Visits the counters of some kinds.
    #[inline]
    pub(super) fn counts<const N: usize>(&mut self, kinds: [Stall; N], mut visit: impl FnMut(&mut u64)) {
        kinds.into_iter().for_each(|kind| visit(&mut self.0[kind as usize]));
    }

    /// Returns the cycles of a kind.
    pub const fn of(&self, stall: Stall) -> u64 {
        self.0[stall as usize]
    }

    /// Returns the sum of both.
    pub(super) fn and(mut self, other: &Self) -> Self {
        for (mine, other) in self.0.iter_mut().zip(other.0) {
            *mine += other;
        }
        self
    }

    /// Returns the stalls of single units: the waiting unit, the cause of the wait, and the number
    /// of cycles.
    pub(super) fn list(&self) -> impl Iterator<Item = (Unit, &'static str, u64)> {
        Stall::ALL.into_iter().map(|(stall, unit, on)| (unit, on, self.of(stall)))
    }

    /// Returns the stalls of a bank whose units are `read` and `write`, like [`Self::list`].
    pub(super) fn list_of_bank(
        &self,
        read: Unit,
        write: Unit,
    ) -> impl Iterator<Item = (Unit, &'static str, u64)> {
        Stall::OF_A_BANK.into_iter().map(move |(stall, on)| {
            let unit = if stall == Stall::WritesUnderWay { write } else { read };
            (unit, on, self.of(stall))
        })
    }
}

/// Stall recorder of a unit: total cycles and, if observed, every single stall.
#[derive(Clone, Debug, Default)]
pub(super) struct StallMeter {
    pub(super) sums: Stalls,
    seen: Option<Vec<Stalled>>,
}

/// A single stall from `from` to `to`, exclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stalled {
    pub(super) stall: Stall,
    pub(super) from: Cycle,
    pub(super) to: Cycle,
}

impl StallMeter {
    /// Adds a stall like [`Stalls::add`].
    #[inline]
    pub(super) fn add(&mut self, stall: Stall, from: Cycle, to: Cycle) {
        self.sums.add(stall, from, to);
        if to > from
            && to < NEVER
            && let Some(seen) = &mut self.seen
        {
            seen.push(Stalled { stall, from, to });
        }
    }

    /// Whether single stalls are recorded.
    pub(super) const fn is_watched(&self) -> bool {
        self.seen.is_some()
    }

    /// Starts to record single stalls.
    pub(super) fn watch(&mut self) {
        self.seen = Some(Vec::new());
    }

    /// Returns and clears the recorded stalls.
    pub(super) fn take(&mut self) -> impl Iterator<Item = Stalled> + use<'_> {
        self.seen.iter_mut().flat_map(|seen| seen.drain(..))
    }
}

impl Stall {
    /// Returns the waiting unit and the text for the cause of the wait. `read` and `write` are the
    /// units of the stalled bank.
    pub(super) fn described(self, [read, write]: [Unit; 2]) -> (Unit, &'static str) {
        let single = Self::ALL.into_iter().find(|(stall, ..)| *stall == self).map(|(_, unit, on)| (unit, on));
        let of_bank = || Self::OF_A_BANK.into_iter().find(|(stall, _)| *stall == self);
        let unit = if self == Self::WritesUnderWay { write } else { read };
        single.unwrap_or_else(|| (unit, of_bank().map_or("", |(_, on)| on)))
    }
}

#[cfg(test)]
mod tests {
    use super::{Stall, Stalls};
    use crate::clock::queue::NEVER;
    use crate::clock::unit::Unit;

    #[test]
    fn only_waits_that_end_count() {
        let mut stalls = Stalls::default();
        for (from, to) in [(5, 8), (8, 5), (5, NEVER), (NEVER, NEVER + 3), (7, 7)] {
            stalls.add(Stall::Latency, from, to);
        }
        assert_eq!(stalls.of(Stall::Latency), 3);
    }

    #[test]
    fn of_a_bank_only_a_write_waits_for_writes_under_way() {
        let mut stalls = Stalls::default();
        stalls.add(Stall::WritesUnderWay, 0, 2);
        stalls.add(Stall::ReadsUnderWay, 0, 3);
        let listed: Vec<_> = stalls.list_of_bank(Unit::Dram1Read, Unit::Dram1Write).collect();
        let expected = [
            (Unit::Dram1Read, "memory to answer", 0),
            (Unit::Dram1Read, "responses to writes", 0),
            (Unit::Dram1Read, "bursts under way", 3),
            (Unit::Dram1Write, "bursts under way", 2),
        ];
        assert_eq!(listed, expected);
    }
}
