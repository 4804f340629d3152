//! [`Motion`]: the values inside a unit, cycle by cycle, while it executes one instruction.

use std::ops::RangeInclusive;

/// Kind of a place, which gives its shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PlaceKind {
    /// Element that computes a sum from an operand and the number that it holds.
    Unit,
    /// Register that delays a value.
    Register,
    /// Memory. A value that arrives there stays.
    Memory,
}

/// Place on the grid of a drawing.
#[derive(Clone, Debug, PartialEq)]
pub struct Place {
    /// Kind, which gives its shape.
    pub kind: PlaceKind,
    /// Row of the grid, from 0 at the top.
    pub row: usize,
    /// Column of the grid, from 0 at the left.
    pub column: usize,
    /// Number that the place holds in all cycles, such as a weight.
    pub held: Option<f64>,
}

/// Kind of a value, which gives its color.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ValueKind {
    /// Operand of a unit.
    Operand,
    /// Second operand of a unit that holds no number.
    Factor,
    /// Result of a unit: a sum, partial or complete.
    Sum,
}

/// A value at a place, during one cycle.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Visit {
    /// Cycle of the clock.
    pub cycle: u64,
    /// Index of the place, in [`Motion::places`].
    pub place: usize,
    /// Real value. In a unit it is the sum that the unit computes in this cycle.
    pub value: f64,
}

/// A value on its way.
#[derive(Clone, Debug, PartialEq)]
pub struct Moving {
    /// Kind, which gives its color.
    pub kind: ValueKind,
    /// Places that it visits, by ascending cycle, at most one per cycle.
    pub visits: Vec<Visit>,
}

/// Names of the kinds of values, for a legend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Names {
    /// Numbers that units hold, such as `weight`, or second operands.
    pub held: &'static str,
    /// Operands.
    pub operand: &'static str,
    /// Sums.
    pub sum: &'static str,
}

/// Values that move through a grid of places. Numbers are the machine's, cycles are the clock's.
#[derive(Clone, Debug, PartialEq)]
pub struct Motion {
    /// Names of the kinds of values.
    pub names: Names,
    /// Names of the grid's rows, from the top; a row may have none.
    pub rows: Vec<String>,
    /// Explanations of the cycles and of omitted parts, one sentence each.
    pub notes: Vec<String>,
    places: Vec<Place>,
    values: Vec<Moving>,
}

impl Motion {
    /// Returns a motion without places.
    pub const fn new(names: Names) -> Self {
        Self { names, rows: Vec::new(), notes: Vec::new(), places: Vec::new(), values: Vec::new() }
    }

    /// Adds a place at a row and column; returns its index for [`Visit::place`].
    pub fn place(
        &mut self,
        kind: PlaceKind,
        (row, column): (usize, usize),
        held: impl Into<Option<f64>>,
    ) -> usize {
        self.places.push(Place { kind, row, column, held: held.into() });
        self.places.len() - 1
    }

    /// Adds a value with the places that it visits.
    pub fn value(&mut self, kind: ValueKind, visits: Vec<Visit>) {
        self.values.push(Moving { kind, visits });
    }

    /// All places, in the order in which they were added.
    pub fn places(&self) -> &[Place] {
        &self.places
    }

    /// All values, in the order in which they were added.
    pub fn values(&self) -> &[Moving] {
        &self.values
    }

    /// Number of rows and columns of the grid.
    pub fn size(&self) -> (usize, usize) {
        let end = |index: fn(&Place) -> usize| self.places.iter().map(|place| index(place) + 1).max();
        // Default: a grid without places.
        (end(|place| place.row).unwrap_or(0), end(|place| place.column).unwrap_or(0))
    }

    /// First and last cycle in which a value is at a place; `None` without values.
    pub fn cycles(&self) -> Option<RangeInclusive<u64>> {
        let all = || self.values.iter().flat_map(|value| &value.visits).map(|visit| visit.cycle);
        Some(all().min()?..=all().max()?)
    }

    /// Values that are at a place in a cycle. Values in memories are there from their arrival on.
    pub fn at(&self, cycle: u64) -> impl Iterator<Item = (ValueKind, Visit)> {
        self.values.iter().filter_map(move |value| {
            let visit = value.visits.iter().rev().find(|visit| visit.cycle <= cycle)?;
            let is_there = visit.cycle == cycle || self.stays(*visit);
            is_there.then_some((value.kind, *visit))
        })
    }

    /// Whether a value stays where it is after a visit.
    pub fn stays(&self, visit: Visit) -> bool {
        self.places.get(visit.place).is_some_and(|place| place.kind == PlaceKind::Memory)
    }
}

/// Formats a real value in at most six characters, unless its exponent needs more.
pub fn short(value: f64) -> String {
    let exact = value.to_string();
    if exact.len() <= WIDTH || !value.is_finite() {
        return exact;
    }
    let rounded = (0..WIDTH).rev().map(|digits| format!("{value:.digits$}"));
    let fits = |text: &String| text.len() <= WIDTH && (value == 0.0 || text.parse() != Ok(0.0));
    // Default: only an exponent makes very large and very small numbers short.
    rounded.into_iter().find(fits).unwrap_or_else(|| format!("{value:.0e}"))
}

/// Maximum number of characters of a value.
const WIDTH: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;

    fn two_units() -> Motion {
        let mut motion = Motion::new(Names { held: "weight", operand: "input", sum: "sum" });
        let unit = motion.place(PlaceKind::Unit, (0, 1), 2.0);
        let memory = motion.place(PlaceKind::Memory, (2, 1), None);
        motion.value(ValueKind::Operand, vec![Visit { cycle: 4, place: unit, value: 3.0 }]);
        let sum = |cycle, place| Visit { cycle, place, value: 6.0 };
        motion.value(ValueKind::Sum, vec![sum(4, unit), sum(5, memory)]);
        motion
    }

    #[test]
    fn values_stay_in_memories_only() {
        let motion = two_units();
        assert_eq!((motion.size(), motion.cycles()), ((3, 2), Some(4..=5)));
        let at = |cycle| motion.at(cycle).map(|(_, visit)| visit.place).collect::<Vec<_>>();
        assert_eq!([at(3), at(4), at(5), at(9)], [vec![], vec![0, 0], vec![1], vec![1]]);
        let empty = Motion::new(motion.names);
        assert_eq!((empty.size(), empty.cycles()), ((0, 0), None));
    }

    #[test]
    fn numbers_are_short() {
        for (value, text) in [
            (0.0, "0"),
            (-9.0, "-9"),
            (0.000_976_562_5, "0.0010"),
            (-127.996_093_75, "-128.0"),
            (99.609_375, "99.609"),
            (32_767.999, "32768"),
            (1.5e9, "2e9"),
            (-1.25e-9, "-1e-9"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-inf"),
        ] {
            assert_eq!(short(value), text, "{value}");
        }
    }
}
