//! [`MemoryMap`]: which layer's words lie where in a memory, and when, as a picture of bounded size.

use schemars::JsonSchema;
use serde::Serialize;

/// Rows of a map, at most. When places beyond them are used, neighbours become one.
const ROWS: usize = 128;
/// Columns of a map, at most.
const COLUMNS: u64 = 512;

/// Nothing in a cell is needed.
const FREE: i64 = 0;
/// What was there before the program.
const BEFORE: i64 = -1;

/// When the instructions of a program begin, and the layer of each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moments {
    /// The first cycle of each instruction, then the end of the program.
    starts: Vec<u64>,
    layers: Vec<Option<usize>>,
}

impl Moments {
    /// By layer and cycles of each instruction, in order.
    pub fn new(instructions: impl IntoIterator<Item = (Option<usize>, u64)>) -> Self {
        let (mut starts, mut layers, mut end) = (vec![0], Vec::new(), 0_u64);
        for (layer, cycles) in instructions {
            end = end.saturating_add(cycles);
            starts.push(end);
            layers.push(layer);
        }
        Self { starts, layers }
    }

    fn start(&self, instruction: usize) -> Option<u64> {
        self.starts.get(instruction).copied()
    }

    /// Cycles of the program.
    fn end(&self) -> u64 {
        self.starts.last().map_or(0, |end| *end)
    }
}

/// Who needs which places of a memory when: rows of places, columns of cycles. A cell tells of the last who wrote one of its
/// places that is still read in one of its cycles.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MemoryMap {
    /// Name of the memory.
    pub name: String,
    /// What a place holds: `vectors`, `words`.
    pub unit: String,
    /// Places of the memory.
    pub places: u64,
    /// One past the last place that is needed at any time.
    pub used: u64,
    /// Rows of the map, from the lowest places.
    pub rows: usize,
    /// Columns of the map, from the first cycle.
    pub columns: usize,
    /// Places of a row.
    pub places_per_row: u64,
    /// Cycles of a column.
    pub cycles_per_column: u64,
    /// Row by row, a value and how many cells have it, in turn: 0 where nothing is needed, -1 for what was there before the
    /// program, otherwise one more than the place of the layer that wrote it.
    pub cells: Vec<i64>,
}

/// A map under way.
#[derive(Debug)]
pub(crate) struct Mapping<'a> {
    moments: &'a Moments,
    columns: usize,
    cycles_per_column: u64,
    places_per_row: u64,
    used: u64,
    /// Rows of cells.
    cells: Vec<Vec<i64>>,
    /// By row, what was drawn last: neighbours that live together are drawn once.
    last: Vec<Option<(usize, usize, i64)>>,
}

impl<'a> Mapping<'a> {
    pub(crate) fn new(moments: &'a Moments) -> Self {
        let cycles_per_column = moments.end().div_ceil(COLUMNS).max(1);
        let columns = moments.end().div_ceil(cycles_per_column) as usize;
        Self {
            moments,
            columns,
            cycles_per_column,
            places_per_row: 1,
            used: 0,
            cells: Vec::new(),
            last: Vec::new(),
        }
    }

    /// A place is needed from its writer to its last reader. Without a writer it was there before.
    pub(crate) fn lived(&mut self, place: u64, writer: Option<usize>, reader: usize) {
        let value = match writer {
            None => BEFORE,
            // Default: without layers the program is the only one.
            Some(writer) => {
                self.moments.layers.get(writer).copied().flatten().map_or(1, |layer| layer as i64 + 1)
            }
        };
        // Default: what was there before lives from the first cycle on.
        let from = writer.and_then(|writer| self.moments.start(writer)).unwrap_or(0);
        let Some(until) = self.moments.start(reader + 1) else { return };
        self.used = self.used.max(place.saturating_add(1));
        let row = self.row(place);
        let column =
            |cycle: u64| ((cycle / self.cycles_per_column) as usize).min(self.columns.saturating_sub(1));
        let drawn = (column(from), column(until.saturating_sub(1).max(from)), value);
        if self.last.get(row) == Some(&Some(drawn)) {
            return;
        }
        let (first, last, value) = drawn;
        if let Some(cells) = self.cells.get_mut(row).and_then(|cells| cells.get_mut(first..=last)) {
            cells.fill(value);
            self.last[row] = Some(drawn);
        }
    }

    /// The row of a place, once there are such rows.
    fn row(&mut self, place: u64) -> usize {
        while place / self.places_per_row >= ROWS as u64 {
            self.halve();
        }
        let row = (place / self.places_per_row) as usize;
        if self.cells.len() <= row {
            self.cells.resize(row + 1, vec![FREE; self.columns]);
            self.last.resize(row + 1, None);
        }
        row
    }

    /// Makes two rows one.
    fn halve(&mut self) {
        self.places_per_row *= 2;
        let join = |pair: &[Vec<i64>]| {
            let mut rows = pair.iter().cloned();
            let first = rows.next()?;
            let Some(second) = rows.next() else { return Some(first) };
            let cell = |(low, high): (i64, i64)| if low == FREE { high } else { low };
            Some(first.into_iter().zip(second).map(cell).collect())
        };
        self.cells = self.cells.chunks(2).filter_map(join).collect();
        self.last = vec![None; self.cells.len()];
    }

    pub(crate) fn finish(self) -> MemoryMap {
        let Self { columns, cycles_per_column, places_per_row, used, cells, .. } = self;
        let (name, unit, rows) = (String::new(), String::new(), cells.len());
        let cells = run_lengths(cells.iter().flatten().copied());
        MemoryMap { name, unit, places: 0, used, rows, columns, places_per_row, cycles_per_column, cells }
    }
}

/// A value and how often it follows itself, in turn.
fn run_lengths(cells: impl Iterator<Item = i64>) -> Vec<i64> {
    let mut runs: Vec<i64> = Vec::new();
    for cell in cells {
        match runs.as_mut_slice() {
            [.., value, length] if *value == cell => *length += 1,
            _ => runs.extend([cell, 1]),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_drawn_from_its_writer_to_its_last_reader() {
        let moments = Moments::new([(Some(0), 2), (Some(0), 3), (Some(1), 5)]);
        let mut mapping = Mapping::new(&moments);
        mapping.lived(0, Some(0), 1);
        mapping.lived(1, None, 2);
        mapping.lived(2, Some(2), 2);
        let map = mapping.finish();
        assert_eq!((map.rows, map.columns, map.places_per_row, map.cycles_per_column), (3, 10, 1, 1));
        assert_eq!(map.used, 3);
        // Five cycles of layer 0, five of nobody; ten from before; five of nobody, five of layer 1.
        assert_eq!(map.cells, [1, 5, 0, 5, -1, 10, 0, 5, 2, 5]);
    }

    #[test]
    fn many_places_and_cycles_have_a_picture_of_bounded_size() {
        let moments = Moments::new((0..1000).map(|layer| (Some(layer), 1000)));
        let mut mapping = Mapping::new(&moments);
        (0..100_000).for_each(|place| mapping.lived(place, Some((place % 1000) as usize), 999));
        let map = mapping.finish();
        assert!(map.rows <= ROWS && map.columns as u64 <= COLUMNS, "{} x {}", map.rows, map.columns);
        assert_eq!((map.places_per_row, map.cycles_per_column), (1024, 1954));
        let cells: i64 = map.cells.chunks(2).map(|run| run[1]).sum();
        assert_eq!(cells as usize, map.rows * map.columns);
    }

    #[test]
    fn of_a_program_without_instructions_nothing_is_drawn() {
        let moments = Moments::new([]);
        let mut mapping = Mapping::new(&moments);
        mapping.lived(0, None, 0);
        assert!(mapping.finish().cells.is_empty());
    }
}
