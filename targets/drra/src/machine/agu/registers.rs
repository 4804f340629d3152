//! [`Registers`]: configuration registers of a port of the released circuit, including erasure.
//!
//! The circuit counts lanes and levels in small counters that wrap, and refuses nothing.
//! Instructions use the counters of the previous cycle. If a configuration is erased in the same
//! cycle, only what the instruction writes remains.
//!
//! Source: specification 1.2 (#10 to #17), 4.5; `tests/golden/drra/released_kernels.json`.

use super::{Lane, Level, MAX_LANES, MAX_LEVELS, Pattern};
use crate::config::component::Component;
use crate::config::revision::{Repx, Revision, Widths};

/// Features of a port's address generator in the circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Circuit {
    /// Field widths of a `rep`, and of a `repx`.
    pub widths: Widths,
    /// Meaning of `repx`.
    pub repx: Repx,
    /// Whether there are lanes, transitions between them, and levels around them.
    pub has_lanes: bool,
    /// Whether there is a first address.
    pub has_base: bool,
}

impl Circuit {
    /// Returns the features of a component's ports.
    pub const fn new(component: Component) -> Self {
        Self {
            widths: Revision::Released.widths(component),
            repx: Revision::Released.repx(component),
            has_lanes: component.has_lanes(),
            has_base: component.is_iosram(),
        }
    }
}

/// Instruction that configures a port. Steps are bits without a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Write {
    /// `dsu` and `evt`, with an address.
    Open(u16),
    /// `rep`.
    Rep(Level),
    /// `repx`.
    Repx(Level),
    /// `trans`.
    Trans(u32),
}

/// Lane number before the first lane.
const NO_LANE: usize = MAX_LANES - 1;

/// Configuration registers of a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registers {
    lanes: [[Level; MAX_LEVELS]; MAX_LANES],
    is_lane: [bool; MAX_LANES],
    transitions: [Option<u32>; MAX_LANES],
    outer: [Level; MAX_LEVELS],
    /// Lane that was opened last.
    lane: usize,
    /// Index of the next level.
    level: usize,
    /// Index of the next transition.
    transition: usize,
    /// Whether the next level is around the lanes.
    is_outer: bool,
    /// Whether there is a level around the lanes.
    has_outer: bool,
    base: u16,
}

/// Level that was not written.
const NONE: Level = Level { iter: 0, step: 0, delay: 0 };

impl Default for Registers {
    fn default() -> Self {
        Self {
            lanes: [[NONE; MAX_LEVELS]; MAX_LANES],
            is_lane: [false; MAX_LANES],
            transitions: [None; MAX_LANES],
            outer: [NONE; MAX_LEVELS],
            lane: NO_LANE,
            level: 0,
            transition: 0,
            is_outer: false,
            has_outer: false,
            base: 0,
        }
    }
}

impl Registers {
    /// Returns the erased configuration, which keeps only the first address.
    pub fn erased(&self) -> Self {
        Self { base: self.base, ..Self::default() }
    }

    /// Returns the configuration after an instruction, in a cycle that erases it or not.
    pub fn written(&self, circuit: Circuit, write: Write, erases: bool) -> Self {
        let mut next = if erases { self.erased() } else { self.clone() };
        match write {
            Write::Open(base) => {
                next.base = base;
                next.lane = (self.lane + 1) % MAX_LANES;
                next.level = 0;
                // Whichever lane is opened, the first lane becomes a single address.
                next.lanes[0][0].iter = 1;
                next.is_lane[0] = true;
            }
            Write::Rep(fields) => {
                let level = next.place(self, self.level);
                put(level, fields, circuit.widths, 0);
                next.level = (self.level + 1) % MAX_LEVELS;
            }
            Write::Repx(fields) => {
                let (number, then) = match circuit.repx {
                    Repx::Extends => (self.level.saturating_sub(1), self.level),
                    Repx::NextLevel => (self.level, (self.level + 1) % MAX_LEVELS),
                };
                put(next.place(self, number), fields, circuit.widths, 1);
                next.level = then;
            }
            Write::Trans(delay) if !self.has_outer => {
                next.transitions[self.transition] = Some(delay);
                next.transition = (self.transition + 1) % MAX_LANES;
                (next.is_outer, next.level) = (true, 0);
            }
            Write::Trans(_) => {}
        }
        next
    }

    /// Returns the level at an index, in the lane or around the lanes as the counters of `before`
    /// select.
    fn place(&mut self, before: &Self, number: usize) -> &mut Level {
        if before.is_outer {
            self.has_outer = true;
            return &mut self.outer[number];
        }
        self.is_lane[before.lane] |= number == 0;
        &mut self.lanes[before.lane][number]
    }

    /// Returns the pattern that the registers configure; `size` is the port's number of addresses.
    pub fn pattern(&self, circuit: Circuit, size: u32) -> Pattern {
        let levels = |levels: &[Level]| -> Vec<Level> {
            let count = levels.iter().rposition(|level| level.iter > 0).map_or(0, |last| last + 1);
            levels.iter().take(count).map(|level| signed(*level, circuit.widths, size)).collect()
        };
        let base = if circuit.has_base { self.base.into() } else { 0 };
        if !circuit.has_lanes {
            // The levels of all other lanes are lost.
            let lane = Lane { base, levels: levels(&self.lanes[0]) };
            return Pattern { lanes: vec![lane], ..Pattern::default() };
        }
        let between = self.transitions.iter().take_while(|delay| delay.is_some()).count();
        // Default: without a marked lane, the transitions determine the number of lanes.
        let last = self.is_lane.iter().rposition(|is_lane| *is_lane).unwrap_or(between.min(NO_LANE));
        let lanes = self.lanes.iter().take(last + 1).map(|lane| Lane { base, levels: levels(lane) });
        // Default: a register that was not written since its erasure is 0.
        let transitions = self.transitions.iter().take(last).map(|delay| delay.unwrap_or(0));
        Pattern {
            lanes: lanes.collect(),
            transitions: transitions.collect(),
            outer: levels(&self.outer),
            last: None,
        }
    }
}

/// Writes the low or the high half of a level.
fn put(level: &mut Level, fields: Level, widths: Widths, half: u32) {
    let part = |old: u32, new: u32, bits: u32| {
        let mask = (1 << bits) - 1;
        old & !(mask << (half * bits)) | (new & mask) << (half * bits)
    };
    level.iter = part(level.iter, fields.iter, widths.iter);
    level.step = part(level.step as u32, fields.step as u32, widths.step) as i32;
    level.delay = part(level.delay, fields.delay, widths.delay);
}

/// Steps are unsigned in the circuit, which matters only if addresses are wider than steps.
fn signed(level: Level, widths: Widths, size: u32) -> Level {
    if size > 1 << widths.step {
        return level;
    }
    let unused = 32 - widths.step;
    Level { step: level.step << unused >> unused, ..level }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(iter: u32, step: i32, delay: u32) -> Level {
        Level { iter, step, delay }
    }

    fn after(component: Component, writes: &[Write]) -> Registers {
        let circuit = Circuit::new(component);
        writes.iter().fold(Registers::default(), |registers, write| registers.written(circuit, *write, false))
    }

    fn levels(component: Component, writes: &[Write]) -> Vec<Level> {
        let pattern = after(component, writes).pattern(Circuit::new(component), 64);
        assert_eq!(pattern.lanes.len(), 1);
        pattern.lanes.into_iter().flat_map(|lane| lane.levels).collect()
    }

    #[test]
    fn a_dpu_drops_high_bits() {
        let found = levels(Component::Dpu, &[Write::Open(0), Write::Rep(level(130, 0, 64))]);
        assert_eq!(found, [level(2, 0, 0)]);
        let extended = [
            Write::Open(0),
            Write::Rep(level(5, 0, 1)),
            Write::Repx(level(1, 0, 2)),
            Write::Rep(level(3, 0, 4)),
        ];
        assert_eq!(levels(Component::Dpu, &extended), [level(128 + 5, 0, 128 + 1), level(3, 0, 4)]);
    }

    #[test]
    fn repx_writes_the_next_level_of_a_memory() {
        for component in [Component::Rf, Component::IosramTop, Component::IosramBtm] {
            let writes = [Write::Open(0), Write::Rep(level(0, 1, 15)), Write::Repx(level(1, 0, 2))];
            assert_eq!(levels(component, &writes), [level(0, 1, 15), level(256, 0, 256)]);
            let narrow = [Write::Open(0), Write::Rep(level(4, 0, 127)), Write::Repx(level(0, 0, 7))];
            assert_eq!(levels(component, &narrow), [level(4, 0, 127)], "a level of no times");
        }
    }

    #[test]
    fn a_fifth_level_is_the_first_again() {
        let mut writes = vec![Write::Open(0)];
        writes.extend((2..7).map(|iter| Write::Rep(level(iter, 1, 0))));
        let found = levels(Component::Rf, &writes);
        assert_eq!(found.iter().map(|level| level.iter).collect::<Vec<_>>(), [6, 3, 4, 5]);
    }

    #[test]
    fn another_lane_makes_the_first_a_single_address() {
        let writes = [
            Write::Open(3),
            Write::Rep(level(4, 1, 0)),
            Write::Open(9),
            Write::Rep(level(2, 1, 0)),
            Write::Trans(5),
            Write::Rep(level(3, 8, 0)),
        ];
        let registers = after(Component::IosramTop, &writes);
        let pattern = registers.pattern(Circuit::new(Component::IosramTop), 64);
        let lanes: Vec<(i64, &[Level])> =
            pattern.lanes.iter().map(|lane| (lane.base, &lane.levels[..])).collect();
        assert_eq!(lanes, [(9, &[level(1, 1, 0)][..]), (9, &[level(2, 1, 0)])]);
        assert_eq!((pattern.transitions, pattern.outer), (vec![5], vec![level(3, 8, 0)]));
        let lost = after(Component::IosramBtm, &writes).pattern(Circuit::new(Component::IosramBtm), 64);
        assert_eq!((lost.lanes[0].levels.len(), lost.outer.len()), (1, 0));
    }

    #[test]
    fn steps_have_no_sign_where_addresses_are_wide() {
        let registers = after(Component::IosramTop, &[Write::Open(9), Write::Rep(level(4, -1, 0))]);
        let step = |size| registers.pattern(Circuit::new(Component::IosramTop), size).lanes[0].levels[0].step;
        assert_eq!((step(64), step(1 << 16)), (-1, 127));
    }

    /// From runs on the released circuit: `dsu` in L+1, `rep` in L+2, `repx` in L+3.
    #[test]
    fn what_is_written_while_it_is_erased_stays_alone() {
        let circuit = Circuit::new(Component::IosramTop);
        let mut registers = after(Component::IosramTop, &[Write::Open(0), Write::Rep(level(2, 1, 0))]);
        registers = registers.written(circuit, Write::Open(4), true);
        registers = registers.written(circuit, Write::Rep(level(0, 1, 15)), true);
        registers = registers.written(circuit, Write::Repx(level(1, 0, 0)), false);
        let pattern = registers.pattern(circuit, 1 << 16);
        let addresses: Vec<_> = (0..pattern.span()).filter_map(|offset| pattern.at(offset)).collect();
        assert_eq!(addresses, [4, 4]);
    }
}
