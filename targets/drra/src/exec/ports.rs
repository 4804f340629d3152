//! Address generators: what configures them, starts them, and the addresses of a cycle.

use std::ops::Range;

use crate::agu::{Circuit, Level, Pattern, PatternError, Steady, Walk, Widths, Write};
use crate::component::Component;
use crate::fault::FaultKind;
use crate::state::{Addresses, Ports, Released, Streak, bit, number};

/// Cycles below which a streak costs more than it saves.
const LEAST_STREAK: u64 = 2;
/// Cycles of the longest streak: they are counted in 31 bits.
const MOST_STREAK: u64 = 1 << 30;

/// An address beyond the memory, which was wrapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wrapped {
    pub number: usize,
    pub address: i64,
}

impl Ports {
    /// Finds the addresses of `cycle`; gives one that had to be wrapped, once
    /// for each port.
    #[inline]
    pub(crate) fn emit(&mut self, cycle: u64) -> Option<Wrapped> {
        if cycle < self.streak.end {
            self.streak.done = (cycle - self.streak.start) as u32;
            return None;
        }
        if self.active == 0 {
            self.emitted = 0;
            return None;
        }
        self.settle(cycle);
        if self.begin_streak(cycle) { None } else { self.take(cycle) }
    }

    /// Walks past what the last streak had addresses for, up to `cycle`.
    fn settle(&mut self, cycle: u64) {
        let passed = cycle.min(self.streak.end).saturating_sub(self.streak.start);
        if passed > 0 {
            let mut left = self.emitted & self.active;
            while left != 0 {
                self.walks[left.trailing_zeros() as usize & 63].skip(passed);
                left &= left - 1;
            }
        }
        self.streak = Streak::default();
    }

    /// Begins a streak, if it is to be worth it. It ends before any run does, so that ports are seen to be done
    /// in the cycle of their last address, and before any address would be wrapped.
    fn begin_streak(&mut self, cycle: u64) -> bool {
        let (mut left, mut emitted, mut cycles) = (self.active, 0, MOST_STREAK);
        while left != 0 {
            let number = left.trailing_zeros() as usize & 63;
            left &= left - 1;
            match self.walks[number].steady(cycle) {
                Steady::Idle(idle) => cycles = cycles.min(idle),
                Steady::Run { addresses, affine } => {
                    cycles = cycles.min(addresses - 1);
                    emitted |= 1 << number;
                    self.addresses[number] = affine.into();
                    let (low, high) = affine.range(cycles);
                    if low < 0 || high >= i64::from(self.sizes[number]) {
                        return false;
                    }
                }
            }
            if cycles < LEAST_STREAK {
                return false;
            }
        }
        if emitted != 0 {
            self.emitted = emitted;
            self.streak = Streak { start: cycle, end: cycle.saturating_add(cycles), done: 0 };
        }
        emitted != 0
    }

    /// The addresses of `cycle`, port by port.
    fn take(&mut self, cycle: u64) -> Option<Wrapped> {
        let (mut left, mut emitted, mut over) = (self.active, 0, 0);
        let mut wrapped = None;
        while left != 0 {
            let number = left.trailing_zeros() as usize & 63;
            left &= left - 1;
            let walk = &mut self.walks[number];
            let Some(address) = walk.take(cycle) else { continue };
            emitted |= 1 << number;
            over |= u64::from(walk.is_over()) << number;
            let size = self.sizes[number];
            let wrapped_address = if (0..i64::from(size)).contains(&address) {
                address as u32
            } else {
                if wrapped.is_none() && self.wrapped >> number & 1 == 0 {
                    self.wrapped |= 1 << number;
                    wrapped = Some(Wrapped { number, address });
                }
                address.rem_euclid(size.into()) as u32
            };
            self.addresses[number] = Addresses::one(wrapped_address);
        }
        self.emitted = emitted;
        self.active &= !over;
        wrapped
    }

    /// Forgets the ports whose last address is in `cycle` or was before, where addresses are not asked for.
    pub(crate) fn retire(&mut self, cycle: u64) {
        for number in (0..self.ended.len()).filter(|number| self.ended[*number] <= cycle.saturating_add(1)) {
            self.active &= !(1 << number);
        }
    }

    /// The cycle of the next address of any port; `u64::MAX` when there is none.
    pub(crate) fn next_cycle(&self) -> u64 {
        let mut left = self.active;
        let mut next = u64::MAX;
        while left != 0 {
            next = next.min(self.walks[left.trailing_zeros() as usize & 63].next_cycle());
            left &= left - 1;
        }
        next
    }

    /// Starts the ports of `raised`: their first address is in the cycle after `cycle`. Ports that run go on; what
    /// does not exist is not there. Gives what hardware may not take yet.
    ///
    /// Errors: lanes that are not connected.
    pub(crate) fn activate(&mut self, cycle: u64, raised: u64) -> Result<Option<FaultKind>, FaultKind> {
        let mut left = raised & self.exist & !self.active;
        let mut early = None;
        while left != 0 {
            let number = left.trailing_zeros() as usize & 63;
            left &= left - 1;
            let (slot, port) = (number as u8 / 4, number as u8 % 4);
            early = early.or(self.early(cycle, slot, port, "activated"));
            let Some(pattern) = self.configured(cycle, number) else { continue };
            pattern.check().map_err(|reason| FaultKind::Pattern { slot, port, reason })?;
            let start = cycle.saturating_add(1);
            self.walks[number] = Walk::new(&pattern, start);
            self.ended[number] = start.saturating_add(pattern.span());
            self.active |= 1 << number;
            // Whoever starts has an address in the next cycle.
            if self.streak.end > start {
                self.streak.end = start;
            }
        }
        Ok(early)
    }

    /// What a port does that is started in `cycle`; none when the released circuit still erases it, and does not
    /// start.
    pub(crate) fn configured(&mut self, cycle: u64, number: usize) -> Option<Pattern> {
        let edges = self.erasing(number);
        let Some(released) = &mut self.released else {
            return Some(std::mem::take(&mut self.patterns[number]));
        };
        if edges.contains(&cycle) {
            return None;
        }
        released.settle(number, cycle, edges);
        Some(released.registers[number].pattern(released.circuits[number], self.sizes[number]))
    }

    /// The cycles at whose ends the released circuit erases what a port was configured with; none before it ran.
    fn erasing(&self, number: usize) -> Range<u64> {
        match (self.ended[number], self.with_lanes >> number & 1) {
            (0, _) => 0..0,
            (ended, 0) => ended - 1..ended,
            (ended, _) => ended..ended.saturating_add(2),
        }
    }

    /// Whether a port may be configured. Gives what hardware may not take yet. Errors: it runs.
    fn configurable(&self, cycle: u64, number: usize) -> Result<Option<FaultKind>, FaultKind> {
        let (slot, port) = (number as u8 / 4, number as u8 % 4);
        let ended = self.ended[number];
        if cycle < ended {
            return Err(FaultKind::Busy { slot, port, until: ended - 1 });
        }
        Ok(self.early(cycle, slot, port, "configured"))
    }

    /// Hardware erases a configuration one or two cycles after the last address.
    fn early(&self, cycle: u64, slot: u8, port: u8, what: &'static str) -> Option<FaultKind> {
        let ended = self.ended[number(slot, port)];
        let erased = if self.with_lanes & bit(slot, port) == 0 { ended } else { ended + 1 };
        let from = if what == "activated" { erased + 1 } else { erased };
        (ended != 0 && cycle < from).then(|| FaultKind::Early { slot, port, what, last: ended - 1, from })
    }

    /// Applies a change to a port's configuration: what the seed's text says, or what the released circuit writes.
    fn change(
        &mut self,
        cycle: u64,
        (slot, port): (u8, u8),
        change: impl FnOnce(&mut Pattern) -> Result<(), PatternError>,
        write: Write,
    ) -> Result<Option<FaultKind>, FaultKind> {
        let number = self.released.as_mut().map_or(number(slot, port), |released| {
            released.target(number(slot, port), matches!(write, Write::Open(_)))
        });
        let early = self.configurable(cycle, number)?;
        let edges = self.erasing(number);
        let Some(released) = &mut self.released else {
            let changed = change(&mut self.patterns[number]);
            changed.map_err(|reason| FaultKind::Pattern { slot, port, reason })?;
            return Ok(early);
        };
        released.settle(number, cycle, edges.clone());
        let erases = edges.contains(&cycle);
        let circuit = released.circuits[number];
        released.registers[number] = released.registers[number].written(circuit, write, erases);
        released.touched[number] = cycle;
        Ok(early)
    }

    /// `dsu` and `evt`.
    pub(crate) fn open(
        &mut self,
        cycle: u64,
        slot: u8,
        port: u8,
        base: u16,
    ) -> Result<Option<FaultKind>, FaultKind> {
        self.change(cycle, (slot, port), |pattern| pattern.open(base.into()), Write::Open(base))
    }

    /// `rep`.
    pub(crate) fn rep(
        &mut self,
        cycle: u64,
        place: (u8, u8),
        level: Level,
        widths: Widths,
        spill: bool,
    ) -> Result<Option<FaultKind>, FaultKind> {
        self.change(cycle, place, |pattern| pattern.rep(level, widths, spill), Write::Rep(level))
    }

    /// `repx`.
    pub(crate) fn repx(
        &mut self,
        cycle: u64,
        place: (u8, u8),
        (iter, step, delay): (u8, u8, u8),
    ) -> Result<Option<FaultKind>, FaultKind> {
        let (iter, step, delay) = (iter.into(), u32::from(step), delay.into());
        let write = Write::Repx(Level { iter, step: step as i32, delay });
        self.change(cycle, place, |pattern| pattern.repx(iter, step, delay), write)
    }

    /// `trans`.
    pub(crate) fn trans(
        &mut self,
        cycle: u64,
        slot: u8,
        port: u8,
        delay: u32,
    ) -> Result<Option<FaultKind>, FaultKind> {
        self.change(cycle, (slot, port), |pattern| pattern.trans(delay), Write::Trans(delay))
    }

    /// Forgets all addresses and times, as between calls.
    pub(crate) fn rest(&mut self) {
        self.active = 0;
        self.emitted = 0;
        self.streak = Streak::default();
        self.wrapped = 0;
        for number in 0..self.ended.len() {
            let edges = self.erasing(number);
            if let Some(released) = &mut self.released {
                released.settle(number, u64::MAX, edges);
                released.touched[number] = 0;
            }
        }
        self.ended.fill(0);
    }
}

impl Released {
    /// Erases what was erased in cycles before `cycle`.
    fn settle(&mut self, number: usize, cycle: u64, mut edges: Range<u64>) {
        if edges.any(|edge| edge < cycle && self.touched[number] < edge) {
            self.registers[number] = self.registers[number].erased();
        }
    }

    /// The port that an instruction for `number` configures. Memories and dpus go by their last `dsu` or `evt`.
    fn target(&mut self, number: usize, opens: bool) -> usize {
        let circuit = self.circuits[number];
        let goes_by_last = circuit.has_base || circuit == Circuit::new(Component::Dpu);
        let first = 4 * usize::from(self.first[number]);
        match (goes_by_last, opens) {
            (false, _) => number,
            (true, true) => {
                self.opened[first] = number;
                number
            }
            (true, false) => self.opened[first],
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use proptest::prelude::*;

    use super::*;
    use crate::config::from_short;
    use crate::revision::Revision;
    use crate::state::CellState;

    const WIDTHS: Widths = Widths { iter: 8, step: 7, delay: 7 };

    /// A slot of 64 words, a port, when it starts, and what it is configured with.
    fn starts() -> impl Strategy<Value = Vec<(u8, u64, Pattern)>> {
        let level =
            (1_u32..9, -3_i32..4, 0_u32..3).prop_map(|(iter, step, delay)| Level { iter, step, delay });
        let levels = proptest::collection::vec(level, 0..4);
        let start = (1_u8..4, 0_u64..60, 0_i64..64, levels).prop_map(|(slot, start, base, levels)| {
            let mut pattern = Pattern::default();
            pattern.open(base).unwrap();
            levels.into_iter().for_each(|level| pattern.rep(level, WIDTHS, false).unwrap());
            (slot, start, pattern)
        });
        proptest::collection::vec(start, 1..4)
    }

    proptest! {
        /// Streaks give what the definition says, whenever other ports start.
        #[test]
        fn addresses_are_those_of_the_patterns(starts in starts()) {
            let fabric = from_short("1x1: [swb,rf,rf,rf]").unwrap();
            let mut ports = CellState::new(&fabric.cells[0], Revision::Seed, Vec::new()).ports;
            let mut running: Vec<Option<(u64, Pattern)>> = vec![None; 4];
            for cycle in 0..300 {
                ports.emit(cycle);
                for slot in 1..4_u8 {
                    let expected = running[usize::from(slot)].as_ref().and_then(|(start, pattern)| {
                        Some(pattern.at(cycle.checked_sub(*start)?)?.rem_euclid(64) as usize)
                    });
                    prop_assert_eq!(ports.address(slot, 1), expected, "cycle {}, slot {}", cycle, slot);
                }
                for (slot, _, pattern) in starts.iter().filter(|(_, start, _)| *start == cycle) {
                    let place = &mut running[usize::from(*slot)];
                    let ended = place.as_ref().is_none_or(|(start, pattern)| cycle + 1 >= start + pattern.span());
                    ports.patterns[number(*slot, 1)] = if ended { pattern.clone() } else { Pattern::default() };
                    ports.activate(cycle, bit(*slot, 1)).unwrap();
                    ports.patterns[number(*slot, 1)] = Pattern::default();
                    if ended {
                        *place = Some((cycle + 1, pattern.clone()));
                    }
                }
            }
        }
    }
}
