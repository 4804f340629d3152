//! Address generators: their configuration, their start, and the addresses of a cycle.

use std::ops::Range;

use crate::config::component::Component;
use crate::config::revision::Widths;
use crate::config::seed::{Choices, Events};
use crate::machine::agu::{Circuit, Level, Pattern, PatternError, Steady, Walk, Write};
use crate::machine::fault::FaultKind;
use crate::machine::state::{Addresses, OPTIONS, Ports, Released, Streak, bit, number};

/// Shortest streak that saves time, in cycles.
const MIN_STREAK: u64 = 2;
/// Longest streak, in cycles: they are counted in 31 bits.
const MAX_STREAK: u64 = 1 << 30;

/// Address beyond the memory, which was wrapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Wrapped {
    pub number: usize,
    pub address: i64,
}

impl Ports {
    /// Determines the addresses of `cycle`. Returns an address that had to be wrapped, once per
    /// port.
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

    /// Advances the walks over the addresses of the last streak, up to `cycle`.
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

    /// Starts a streak if it is long enough. It ends before any run ends, so that a port's last
    /// address is seen in its cycle, and before any address would wrap.
    fn begin_streak(&mut self, cycle: u64) -> bool {
        let (mut left, mut emitted, mut cycles) = (self.active, 0, MAX_STREAK);
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
            if cycles < MIN_STREAK {
                return false;
            }
        }
        if emitted != 0 {
            self.emitted = emitted;
            self.streak = Streak { start: cycle, end: cycle.saturating_add(cycles), done: 0 };
        }
        emitted != 0
    }

    /// Determines the addresses of `cycle`, port by port.
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

    /// Deactivates ports with the last address at or before `cycle`, if addresses are not needed.
    pub(crate) fn retire(&mut self, cycle: u64) {
        for number in (0..self.ended.len()).filter(|number| self.ended[*number] <= cycle.saturating_add(1)) {
            self.active &= !(1 << number);
        }
    }

    /// Returns the cycle of the next address of any port, or `u64::MAX` without one.
    pub(crate) fn next_cycle(&self) -> u64 {
        let mut left = self.active;
        let mut next = u64::MAX;
        while left != 0 {
            next = next.min(self.walks[left.trailing_zeros() as usize & 63].next_cycle());
            left &= left - 1;
        }
        next
    }

    /// Starts the ports in the mask `raised`: their first address is in the cycle after `cycle`.
    /// Active ports continue, and nonexistent ports are ignored. Returns a start that hardware may
    /// lose.
    ///
    /// Errors: lanes are not connected.
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
            // A port that was started has its first address in the next cycle.
            if self.streak.end > start {
                self.streak.end = start;
            }
        }
        Ok(early)
    }

    /// Returns the pattern of a port that is started in `cycle`; `None` if the released circuit is
    /// still erasing it, and does not start it.
    pub(crate) fn configured(&mut self, cycle: u64, number: usize) -> Option<Pattern> {
        let edges = self.erasing(number);
        let Some(released) = &mut self.released else {
            return Some(self.take_configuration(number));
        };
        if edges.contains(&cycle) {
            return None;
        }
        released.settle(number, cycle, edges);
        Some(released.registers[number].pattern(released.circuits[number], self.sizes[number]))
    }

    /// Removes and returns the stored configuration with the lowest option.
    fn take_configuration(&mut self, number: usize) -> Pattern {
        let own = &mut self.patterns[OPTIONS * number..][..OPTIONS];
        // Default: a port without a configuration gives a single address.
        let option = own.iter().position(|pattern| !pattern.is_empty()).unwrap_or(0);
        self.started[number] = option as u8;
        std::mem::take(&mut own[option])
    }

    /// Returns the first cycle, at or after `cycle`, in which a `wait` for the events of `slots`
    /// ends.
    pub(crate) fn after_events(&self, cycle: u64, slots: u16, choices: Choices) -> u64 {
        let ended = |slot: usize| {
            let ports = (0..4).filter(|port| choices.event.ports() >> port & 1 == 1);
            ports.map(|port| self.ended[4 * slot + port]).max()
        };
        let events = (0..16).filter(|slot| slots >> slot & 1 == 1).filter_map(ended);
        let all = match choices.events {
            Events::All => events.max(),
            Events::Any => events.min(),
        };
        // Default: without events, the wait ends at once.
        all.unwrap_or(0).max(cycle)
    }

    /// Returns the cycles in which the released circuit erases a port's configuration, at their
    /// ends; empty if the port never ran.
    fn erasing(&self, number: usize) -> Range<u64> {
        match (self.ended[number], self.with_lanes >> number & 1) {
            (0, _) => 0..0,
            (ended, 0) => ended - 1..ended,
            (ended, _) => ended..ended.saturating_add(2),
        }
    }

    /// Checks that a port may be configured. Returns a configuration that hardware may lose.
    /// Errors: the port is active.
    fn configurable(&self, cycle: u64, number: usize) -> Result<Option<FaultKind>, FaultKind> {
        let (slot, port) = (number as u8 / 4, number as u8 % 4);
        let ended = self.ended[number];
        let is_other = self.has_options && self.option[number] != self.started[number];
        if cycle < ended && !is_other {
            return Err(FaultKind::Busy { slot, port, until: ended - 1 });
        }
        Ok(self.early(cycle, slot, port, "configured"))
    }

    /// Hardware erases a configuration one or two cycles after the last address.
    fn early(&self, cycle: u64, slot: u8, port: u8, what: &'static str) -> Option<FaultKind> {
        let ended = self.ended[number(slot, port)];
        let erased = if self.with_lanes & bit(slot, port) == 0 { ended } else { ended + 1 };
        let from = if what == "activated" { erased + 1 } else { erased };
        (self.erases && ended != 0 && cycle < from).then(|| FaultKind::Early {
            slot,
            port,
            what,
            last: ended - 1,
            from,
        })
    }

    /// Applies an instruction to a port's configuration, as the ISA document describes it, or as
    /// the released circuit does.
    fn change(
        &mut self,
        cycle: u64,
        slot: u8,
        port: u8,
        change: impl FnOnce(&mut Pattern) -> Result<(), PatternError>,
        write: Write,
    ) -> Result<Option<FaultKind>, FaultKind> {
        let number = self.released.as_mut().map_or(number(slot, port), |released| {
            released.target(number(slot, port), matches!(write, Write::Open(_)))
        });
        let early = self.configurable(cycle, number)?;
        let edges = self.erasing(number);
        let Some(released) = &mut self.released else {
            let changed = change(&mut self.patterns[OPTIONS * number + usize::from(self.option[number])]);
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

    /// `dsu` and `evt`; `option` selects one of several configurations of the port.
    pub(crate) fn open(
        &mut self,
        cycle: u64,
        slot: u8,
        port: u8,
        option: u8,
        base: u16,
    ) -> Result<Option<FaultKind>, FaultKind> {
        if self.has_options {
            self.option[number(slot, port)] = option & (OPTIONS as u8 - 1);
        }
        self.change(cycle, slot, port, |pattern| pattern.open(base.into()), Write::Open(base))
    }

    /// `rep`.
    pub(crate) fn rep(
        &mut self,
        cycle: u64,
        slot: u8,
        port: u8,
        level: Level,
        widths: Widths,
        spill: bool,
    ) -> Result<Option<FaultKind>, FaultKind> {
        self.change(cycle, slot, port, |pattern| pattern.rep(level, widths, spill), Write::Rep(level))
    }

    /// `repx`.
    pub(crate) fn repx(
        &mut self,
        cycle: u64,
        slot: u8,
        port: u8,
        iter: u8,
        step: u8,
        delay: u8,
    ) -> Result<Option<FaultKind>, FaultKind> {
        let (iter, step, delay) = (iter.into(), u32::from(step), delay.into());
        let write = Write::Repx(Level { iter, step: step as i32, delay });
        self.change(cycle, slot, port, |pattern| pattern.repx(iter, step, delay), write)
    }

    /// `trans`.
    pub(crate) fn trans(
        &mut self,
        cycle: u64,
        slot: u8,
        port: u8,
        delay: u32,
    ) -> Result<Option<FaultKind>, FaultKind> {
        self.change(cycle, slot, port, |pattern| pattern.trans(delay), Write::Trans(delay))
    }

    /// Clears all addresses and times, as between calls.
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
    /// Applies erasures of cycles before `cycle`.
    fn settle(&mut self, number: usize, cycle: u64, mut edges: Range<u64>) {
        if edges.any(|edge| edge < cycle && self.touched[number] < edge) {
            self.registers[number] = self.registers[number].erased();
        }
    }

    /// Returns the port that an instruction for `number` configures. Memories and dpus use the port
    /// of their last `dsu` or `evt`.
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
    use crate::config::fabric::Options;
    use crate::config::from_short;
    use crate::config::revision::Revision;
    use crate::machine::state::CellState;

    const WIDTHS: Widths = Widths { iter: 8, step: 7, delay: 7 };

    fn ports(parts: &str, revision: Revision) -> Ports {
        let fabric = from_short(&format!("1x1: [{parts}]")).unwrap();
        CellState::<i16>::new(&fabric.cells[0], Options::of(revision), Vec::new()).ports
    }

    /// Addresses starting at `base`.
    fn row_of(base: i64, iter: u32) -> Pattern {
        let mut pattern = Pattern::default();
        pattern.open(base).unwrap();
        pattern.rep(Level { iter, step: 1, delay: 0 }, WIDTHS, false).unwrap();
        pattern
    }

    /// Slot and port of a switch box and 15 register files, start cycle, and configuration.
    fn starts() -> impl Strategy<Value = Vec<((u8, u8), u64, Pattern)>> {
        let level =
            (1_u32..9, -3_i32..4, 0_u32..3).prop_map(|(iter, step, delay)| Level { iter, step, delay });
        let levels = proptest::collection::vec(level, 0..4);
        let place = (proptest::sample::select(vec![0_u8, 1, 2, 14, 15]), 0_u8..4);
        // A switch box has only two ports.
        let place = place.prop_map(|(slot, port)| (slot, if slot == 0 { port % 2 } else { port }));
        let start = (place, 0_u64..60, prop_oneof![0_i64..4, 0_i64..64], levels).prop_map(
            |(place, start, base, levels)| {
                let mut pattern = Pattern::default();
                pattern.open(base).unwrap();
                levels.into_iter().for_each(|level| pattern.rep(level, WIDTHS, false).unwrap());
                (place, start, pattern)
            },
        );
        proptest::collection::vec(start, 1..6)
    }

    proptest! {
        /// Streaks give the defined addresses, whenever other ports start.
        #[test]
        fn addresses_are_those_of_the_patterns(starts in starts()) {
            let mut ports = ports(&["swb", &["rf"; 15].join(",")].join(","), Revision::Text);
            let mut running: Vec<Option<(u64, Pattern)>> = vec![None; 64];
            for cycle in 0..300 {
                ports.emit(cycle);
                for (number, place) in running.iter().enumerate() {
                    let (slot, port) = (number as u8 / 4, number as u8 % 4);
                    // Words of a register file; rows, or options.
                    let size = if slot > 0 && port < 2 { 64 } else { 4 };
                    let expected = place.as_ref().and_then(|(start, pattern)| {
                        Some(pattern.at(cycle.checked_sub(*start)?)?.rem_euclid(size) as usize)
                    });
                    let found = ports.address(slot, port);
                    prop_assert_eq!(found, expected, "cycle {}, slot {}, port {}", cycle, slot, port);
                }
                for ((slot, port), _, pattern) in starts.iter().filter(|(_, start, _)| *start == cycle) {
                    let number = number(*slot, *port);
                    let place = &mut running[number];
                    let ended = place.as_ref().is_none_or(|(start, pattern)| cycle + 1 >= start + pattern.span());
                    ports.patterns[OPTIONS * number] = if ended { pattern.clone() } else { Pattern::default() };
                    ports.activate(cycle, bit(*slot, *port)).unwrap();
                    ports.patterns[OPTIONS * number] = Pattern::default();
                    if ended {
                        *place = Some((cycle + 1, pattern.clone()));
                    }
                }
            }
        }
    }

    /// Any two ports of a cell, from the first to the last, which stay at an address for six cycles
    /// while a third runs.
    #[test]
    fn any_two_ports_run_at_once_beside_a_third() {
        let idle = ports(&["swb", &["rf"; 15].join(",")].join(","), Revision::Text);
        let all: Vec<(u8, u8)> = (0..64_u8).map(|number| (number / 4, number % 4)).collect();
        let exist = all.into_iter().filter(|(slot, port)| idle.exist & bit(*slot, *port) != 0);
        let exist: Vec<_> = exist.collect();
        assert_eq!(exist.len(), 62);
        for (index, &(slot, port)) in exist.iter().enumerate() {
            for &(other, of_other) in &exist[..index] {
                let third = exist.iter().find(|&&third| third != (slot, port) && third != (other, of_other));
                let &(third, of_third) = third.unwrap();
                let mut ports = idle.clone();
                let running = [(slot, port, 1), (other, of_other, 2), (third, of_third, 3)];
                for (slot, port, base) in running {
                    let at = number(slot, port);
                    ports.patterns[OPTIONS * at].open(base).unwrap();
                    ports.patterns[OPTIONS * at]
                        .rep(Level { iter: 6, step: 0, delay: 0 }, WIDTHS, false)
                        .unwrap();
                }
                ports.activate(0, running.iter().map(|&(slot, port, _)| bit(slot, port)).sum()).unwrap();
                for cycle in 1..8 {
                    ports.emit(cycle);
                    let is_under_way = cycle <= 6;
                    let found = running.map(|(slot, port, _)| ports.address(slot, port));
                    let expected = running.map(|(_, _, base)| is_under_way.then_some(base as usize));
                    assert_eq!(found, expected, "{running:?} in cycle {cycle}");
                    assert_eq!(ports.emitted.count_ones(), if is_under_way { 3 } else { 0 });
                }
            }
        }
    }

    /// If several wrap in a cycle, one is reported, and the next one in the cycle after.
    #[test]
    fn every_port_that_wraps_is_told_of_once() {
        let mut ports = ports("swb,rf,rf", Revision::Text);
        ports.patterns[OPTIONS * number(1, 1)] = row_of(64, 5);
        ports.patterns[OPTIONS * number(2, 1)] = row_of(70, 5);
        ports.activate(0, bit(1, 1) | bit(2, 1)).unwrap();
        let of_cycle = |cycle| {
            let wrapped = ports.emit(cycle).map(|wrapped| (wrapped.number, wrapped.address));
            (wrapped, ports.address(1, 1), ports.address(2, 1))
        };
        let found: Vec<_> = (1..6).map(of_cycle).collect();
        let expected = [
            (Some((number(1, 1), 64)), Some(0), Some(6)),
            (Some((number(2, 1), 71)), Some(1), Some(7)),
            (None, Some(2), Some(8)),
            (None, Some(3), Some(9)),
            (None, Some(4), Some(10)),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn ports_retire_with_their_last_address() {
        let mut ports = ports("swb,rf,rf,rf", Revision::Text);
        let all = [(1, 3), (2, 5), (3, 9)];
        for (slot, iter) in all {
            ports.patterns[OPTIONS * number(slot, 1)] = row_of(0, iter);
        }
        ports.activate(0, all.iter().map(|(slot, _)| bit(*slot, 1)).sum()).unwrap();
        // The first address is emitted in cycle 1.
        for cycle in 0..12 {
            ports.retire(cycle);
            let running = all.iter().filter(|(_, iter)| u64::from(*iter) > cycle);
            assert_eq!(ports.active, running.map(|(slot, _)| bit(*slot, 1)).sum::<u64>(), "cycle {cycle}");
        }
    }

    /// With the last address in cycle L, a port with lanes is erased in L+1 and L+2, a port of a
    /// memory with an output at the end of L. A cycle later, it can safely be configured; another
    /// cycle later, activated.
    #[test]
    fn configurations_are_erased_after_the_last_address() {
        let last = 10;
        for (memory, of_memory) in [("iosram_top", 2), ("iosram_btm", 1), ("iosram_both", 1)] {
            let parts = format!("swb,{memory},rf,dpu");
            let fabric = from_short(&format!("1x1: [{parts}]")).unwrap();
            for part in &fabric.cells[0].resources {
                let from = last + if part.component.is_iosram() { of_memory } else { 2 };
                for (slot, port, _) in part.ports() {
                    let (number, mut ports) = (number(slot, port), ports(&parts, Revision::Text));
                    assert_eq!(ports.erasing(number), 0..0);
                    assert_eq!(ports.configurable(0, number), Ok(None));
                    ports.activate(last - 1, bit(slot, port)).unwrap();
                    ports.emit(last);
                    let edges = if from == last + 1 { last..last + 1 } else { last + 1..last + 3 };
                    assert_eq!(ports.erasing(number), edges, "{memory}, slot {slot}, port {port}");
                    let busy = Err(FaultKind::Busy { slot, port, until: last });
                    assert_eq!(ports.configurable(last, number), busy);
                    for cycle in last + 1..last + 5 {
                        let early = |what, from| {
                            (cycle < from).then_some(FaultKind::Early { slot, port, what, last, from })
                        };
                        assert_eq!(ports.configurable(cycle, number), Ok(early("configured", from)));
                        let activated = ports.clone().activate(cycle, bit(slot, port));
                        assert_eq!(activated, Ok(early("activated", from + 1)), "cycle {cycle}");
                    }
                }
            }
        }
    }

    /// `rep`, `repx` and `trans` for a memory or a dpu apply to the port that its last `dsu` or
    /// `evt` opened in any slot; after reset, to its first port. For register files and switch
    /// boxes they apply to the named port.
    #[test]
    fn memories_and_dpus_go_by_the_port_that_was_opened_last() {
        let released = ports("swb,iosram_both,rf,dpu,dpu", Revision::Released).released;
        let (mut released, opens) = (released.unwrap(), true);
        let slots = |component| {
            let fabric = from_short("1x1: [swb,iosram_both,rf,dpu,dpu]").unwrap();
            let parts = fabric.cells[0].resources.clone().into_iter();
            parts.filter(|part| part.component == component).map(|part| part.slot).collect::<Vec<_>>()
        };
        let (memory, file) = (slots(Component::IosramBoth)[0], slots(Component::Rf)[0]);
        let &[dpu, other] = &slots(Component::Dpu)[..] else { panic!() };
        for (is_open, asked, expected) in [
            (!opens, (memory, 2), (memory, 0)),
            (!opens, (memory + 1, 3), (memory, 0)),
            (!opens, (other, 1), (other, 0)),
            (opens, (memory + 1, 3), (memory + 1, 3)),
            (!opens, (memory, 2), (memory + 1, 3)),
            (opens, (dpu, 1), (dpu, 1)),
            (!opens, (other, 1), (other, 0)),
            (!opens, (dpu, 0), (dpu, 1)),
            (opens, (other, 1), (other, 1)),
            (opens, (dpu, 0), (dpu, 0)),
            (!opens, (other, 0), (other, 1)),
            (!opens, (dpu, 1), (dpu, 0)),
            (opens, (file, 1), (file, 1)),
            (!opens, (file, 0), (file, 0)),
            (opens, (0, 1), (0, 1)),
            (!opens, (0, 0), (0, 0)),
            (!opens, (memory, 2), (memory + 1, 3)),
        ] {
            let found = released.target(number(asked.0, asked.1), is_open);
            assert_eq!(found, number(expected.0, expected.1), "{asked:?}");
        }
    }
}
