//! [`frame`]: one cycle of a [`Motion`] as lines of text.

use npukit_target::motion::{Motion, Place, PlaceKind, ValueKind, Visit, short};

/// Meaning of a piece of a line, which gives its style.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PieceKind {
    /// Name of a row.
    Name,
    /// Number that a place holds in all cycles.
    Held,
    /// Operand.
    Operand,
    /// Sum.
    Sum,
    /// Spaces, and marks of places without a value.
    Empty,
}

/// Piece of a line with one meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Piece {
    /// Text, with the spaces before it.
    pub text: String,
    /// Meaning.
    pub kind: PieceKind,
}

impl Piece {
    fn new(kind: PieceKind, text: impl Into<String>, width: usize) -> Self {
        Self { text: format!("{:>width$}", text.into()), kind }
    }

    fn empty(width: usize) -> Self {
        Self::new(PieceKind::Empty, "", width)
    }
}

/// Columns of spaces between two places.
const SPACE: usize = 2;

/// Returns the lines of a cycle. A unit has three: its operand, the number that it holds or its
/// second operand, and its result. Columns have the same width in all cycles.
pub fn frame(motion: &Motion, cycle: u64) -> Vec<Vec<Piece>> {
    let (rows, columns) = motion.size();
    let widths: Vec<usize> = (0..columns).map(|column| width(motion, column)).collect();
    // Default: a motion without names of rows.
    let names = motion.rows.iter().map(String::len).max().unwrap_or(0);
    let now: Vec<(ValueKind, Visit)> = motion.at(cycle).collect();
    let mut lines = Vec::new();
    for row in 0..rows {
        let here = |column| {
            let is_here = |(_, place): &(usize, &Place)| place.row == row && place.column == column;
            motion.places().iter().enumerate().find(is_here)
        };
        let has_units = motion.places().iter().any(|place| place.row == row && place.kind == PlaceKind::Unit);
        for line in 0..if has_units { 3 } else { 1 } {
            // Default: rows without a name.
            let name = motion.rows.get(row).filter(|_| line == 0).map_or("", String::as_str);
            let mut pieces = vec![Piece { text: format!("{name:<names$}"), kind: PieceKind::Name }];
            for (column, width) in widths.iter().enumerate() {
                pieces.push(Piece::empty(SPACE));
                match here(column) {
                    Some(place) => pieces.push(drawn(place, &now, (line, *width))),
                    None => pieces.push(Piece::empty(*width)),
                }
            }
            lines.push(pieces);
        }
    }
    lines
}

/// Returns the piece of a place in one of its lines.
fn drawn(
    (index, place): (usize, &Place),
    now: &[(ValueKind, Visit)],
    (line, width): (usize, usize),
) -> Piece {
    let value = |kind: ValueKind| {
        let is_here = |(other, visit): &&(ValueKind, Visit)| *other == kind && visit.place == index;
        now.iter().rev().find(is_here).map(|(_, visit)| short(visit.value))
    };
    let piece = |kind, text: Option<String>| text.map(|text| Piece::new(kind, text, width));
    let (operand, factor, sum) = (value(ValueKind::Operand), value(ValueKind::Factor), value(ValueKind::Sum));
    let held = place.held.map(short);
    let found = match (place.kind, line) {
        (PlaceKind::Unit, 0) => piece(PieceKind::Operand, operand),
        (PlaceKind::Unit, 1) => piece(PieceKind::Held, factor.or(held).map(|held| format!("*{held}"))),
        (PlaceKind::Unit, _) => piece(PieceKind::Sum, sum.map(|sum| format!("={sum}"))),
        (_, 0) => piece(PieceKind::Operand, operand.or(factor))
            .or(piece(PieceKind::Sum, sum))
            .or(piece(PieceKind::Held, held))
            .or(piece(PieceKind::Empty, Some(".".to_owned()))),
        _ => None,
    };
    found.unwrap_or_else(|| Piece::empty(width))
}

/// Returns the width of a column, over all cycles.
fn width(motion: &Motion, column: usize) -> usize {
    let longest = |index: usize, kind: ValueKind| {
        let values = motion.values().iter().filter(|value| value.kind == kind);
        let visits = values.flat_map(|value| &value.visits).filter(|visit| visit.place == index);
        // Default: no value visits the place.
        visits.map(|visit| short(visit.value).len()).max().unwrap_or(0)
    };
    let needed = |(index, place): (usize, &Place)| {
        let (operand, sum) = (longest(index, ValueKind::Operand), longest(index, ValueKind::Sum));
        let factor = longest(index, ValueKind::Factor);
        let held = place.held.map_or(factor, |held| short(held).len());
        match place.kind {
            PlaceKind::Unit => operand.max(held + 1).max(sum + 1),
            PlaceKind::Register | PlaceKind::Memory => operand.max(sum).max(held).max(1),
        }
    };
    let here = motion.places().iter().enumerate().filter(|(_, place)| place.column == column);
    // Default: a column without places.
    here.map(needed).max().unwrap_or(0)
}

/// Returns the lines of a cycle without styles.
pub(crate) fn text(motion: &Motion, cycle: u64) -> String {
    let line = |pieces: &Vec<Piece>| {
        let line: String = pieces.iter().map(|piece| piece.text.as_str()).collect();
        line.trim_end().to_owned() + "\n"
    };
    frame(motion, cycle).iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use npukit_target::motion::Names;

    use super::*;

    /// A register before a unit with the weight -2, and a memory below.
    #[test]
    fn a_cycle_shows_operands_and_sums_at_their_places() {
        let mut motion = Motion::new(Names { held: "weight", operand: "input", sum: "sum" });
        motion.rows = vec!["lane 0".to_owned()];
        let register = motion.place(PlaceKind::Register, (0, 0), None);
        let unit = motion.place(PlaceKind::Unit, (0, 1), -2.0);
        let memory = motion.place(PlaceKind::Memory, (1, 1), None);
        let visit = |cycle, place, value| Visit { cycle, place, value };
        motion.value(ValueKind::Operand, vec![visit(1, register, 1.5), visit(2, unit, 1.5)]);
        motion.value(ValueKind::Sum, vec![visit(2, unit, -3.0), visit(3, memory, -3.0)]);
        assert_eq!(text(&motion, 1), "lane 0  1.5\n             *-2\n\n               .\n");
        assert_eq!(
            text(&motion, 2),
            "lane 0    .  1.5\n             *-2\n             =-3\n               .\n"
        );
        assert_eq!(text(&motion, 9), "lane 0    .\n             *-2\n\n              -3\n");
    }
}
