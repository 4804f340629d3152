//! [`MemoryMap`]: layers that occupy a memory over time, as a grid of bounded size.

use std::ops::Range;

use serde::Serialize;

/// Maximum number of rows of a map. Beyond it, adjacent rows are merged.
const ROWS: usize = 128;
/// Maximum number of columns of a map.
const COLUMNS: u64 = 512;

/// Cell without a live address.
const FREE: i64 = 0;
/// Cell with content from before the program.
const BEFORE: i64 = -1;

/// Start, end and layer of each instruction of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Moments {
    /// First cycle of each instruction, and the end of the program.
    starts: Vec<u64>,
    /// End of each instruction; empty if each ends where the next one begins.
    ends: Vec<u64>,
    layers: Vec<Option<usize>>,
}

impl Moments {
    /// Creates the moments of sequential instructions, from the layer and the number of cycles of
    /// each.
    pub fn new(instructions: impl IntoIterator<Item = (Option<usize>, u64)>) -> Self {
        let (mut starts, mut layers, mut end) = (vec![0], Vec::new(), 0_u64);
        for (layer, cycles) in instructions {
            end = end.saturating_add(cycles);
            starts.push(end);
            layers.push(layer);
        }
        Self { starts, ends: Vec::new(), layers }
    }

    /// Creates the moments of instructions that may overlap, from the layer and the cycles of each.
    pub fn spans(instructions: impl IntoIterator<Item = (Option<usize>, Range<u64>)>) -> Self {
        let mut moments = Self::default();
        for (layer, Range { start, end }) in instructions {
            moments.starts.push(start);
            moments.ends.push(end.max(start));
            moments.layers.push(layer);
        }
        moments.starts.push(moments.ends.iter().fold(0, |last, end| last.max(*end)));
        moments
    }

    fn start(&self, instruction: usize) -> Option<u64> {
        self.starts.get(instruction).copied()
    }

    /// Returns the end of an instruction, or `None` if it does not exist.
    pub(crate) fn done(&self, instruction: usize) -> Option<u64> {
        if self.ends.is_empty() { self.start(instruction + 1) } else { self.ends.get(instruction).copied() }
    }

    /// Returns the number of cycles of the program.
    pub(crate) fn end(&self) -> u64 {
        self.starts.last().map_or(0, |end| *end)
    }

    /// Returns the writer of a lifetime and its cycles, from the start of `writer` to the end of
    /// `reader`; `None` if the reader does not exist.
    pub(crate) fn life(&self, writer: Option<usize>, reader: usize) -> Option<(Writer, Range<u64>)> {
        let by =
            writer.map_or(Writer::Before, |writer| Writer::Layer(self.layers.get(writer).copied().flatten()));
        // Default: content from before the program lives from the first cycle.
        let from = writer.and_then(|writer| self.start(writer)).unwrap_or(0);
        Some((by, from..self.done(reader)?))
    }
}

/// Writer of an address's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writer {
    /// The content was there before the program.
    Before,
    /// Layer with this index; `None` if layers are unknown, and the program counts as the only one.
    Layer(Option<usize>),
}

/// Map of a memory's use: rows of addresses, columns of cycles. A cell shows the last writer of one
/// of its addresses that is still read in one of its cycles.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct MemoryMap {
    /// Name of the memory.
    pub name: String,
    /// Unit of an address: `vectors`, `words`.
    pub unit: String,
    /// Number of addresses of the memory.
    pub places: u64,
    /// One past the last address that is ever live.
    pub used: u64,
    /// Rows of the map, lowest addresses first.
    pub rows: usize,
    /// Columns of the map, first cycle first.
    pub columns: usize,
    /// Addresses per row.
    pub places_per_row: u64,
    /// Cycles per column.
    pub cycles_per_column: u64,
    /// Run-length encoded cells, row by row: alternating values and numbers of cells. The value is
    /// 0 if nothing is live, -1 for content from before the program, otherwise the index of the
    /// layer that wrote it plus 1.
    pub cells: Vec<i64>,
}

/// Write time of a cell's content (one more than for content from before the program), and its
/// value in the map. The cell with the larger pair is shown.
type Cell = (u64, i64);

/// Cell without a live address.
const EMPTY: Cell = (0, FREE);

/// Map under construction.
#[derive(Debug)]
pub struct Mapping {
    columns: usize,
    cycles_per_column: u64,
    places_per_row: u64,
    used: u64,
    /// Rows of cells.
    cells: Vec<Vec<Cell>>,
    /// Last drawn cells by row: adjacent addresses with equal lifetimes are drawn once.
    last: Vec<Option<(usize, usize, Cell)>>,
}

impl Mapping {
    /// Creates the map of a program of `cycles` cycles.
    pub fn new(cycles: u64) -> Self {
        let cycles_per_column = cycles.div_ceil(COLUMNS).max(1);
        let columns = cycles.div_ceil(cycles_per_column) as usize;
        let (cells, last) = (Vec::new(), Vec::new());
        Self { columns, cycles_per_column, places_per_row: 1, used: 0, cells, last }
    }

    /// Returns the column of a cycle; the last one for cycles after the end.
    pub fn column(&self, cycle: u64) -> usize {
        ((cycle / self.cycles_per_column) as usize).min(self.columns.saturating_sub(1))
    }

    /// Draws a lifetime of addresses, from the first cycle of `writer` to the end of the last
    /// reader. Calls may come in any order.
    pub fn lived(&mut self, places: Range<u64>, writer: Writer, cycles: Range<u64>) {
        let Some(highest) = places.end.checked_sub(1).filter(|highest| *highest >= places.start) else {
            return;
        };
        self.used = self.used.max(places.end);
        let Range { start: from, end: until } = cycles;
        let cell = match writer {
            Writer::Before => (1, BEFORE),
            // Default: without layers, the program counts as the only one.
            Writer::Layer(layer) => (from.saturating_add(2), layer.map_or(1, |layer| layer as i64 + 1)),
        };
        let (first, last) = (self.column(from), self.column(until.saturating_sub(1).max(from)));
        // The highest address comes first, so that rows for all others exist.
        let rows = self.row(highest);
        let lowest = (places.start / self.places_per_row) as usize;
        (lowest..=rows).for_each(|row| self.draw(row, first, last, cell));
    }

    fn draw(&mut self, row: usize, first: usize, last: usize, cell: Cell) {
        let drawn = Some((first, last, cell));
        if self.last.get(row) == Some(&drawn) {
            return;
        }
        if let Some(cells) = self.cells.get_mut(row).and_then(|cells| cells.get_mut(first..=last)) {
            cells.iter_mut().for_each(|seen| *seen = cell.max(*seen));
            self.last[row] = drawn;
        }
    }

    /// Returns the row of an address, and adds rows up to it.
    fn row(&mut self, place: u64) -> usize {
        while place / self.places_per_row >= ROWS as u64 {
            self.halve();
        }
        let row = (place / self.places_per_row) as usize;
        if self.cells.len() <= row {
            self.cells.resize(row + 1, vec![EMPTY; self.columns]);
            self.last.resize(row + 1, None);
        }
        row
    }

    /// Merges adjacent rows in pairs.
    fn halve(&mut self) {
        self.places_per_row *= 2;
        let join = |pair: &[Vec<Cell>]| {
            let mut rows = pair.iter().cloned();
            let first = rows.next()?;
            let Some(second) = rows.next() else { return Some(first) };
            Some(first.into_iter().zip(second).map(|(low, high)| low.max(high)).collect())
        };
        self.cells = self.cells.chunks(2).filter_map(join).collect();
        self.last = vec![None; self.cells.len()];
    }

    /// Returns the map of a memory of `places` addresses; `None` if none of them is used.
    pub fn finish(self, name: &str, unit: &str, places: u64) -> Option<MemoryMap> {
        let Self { columns, cycles_per_column, places_per_row, used, cells, .. } = self;
        let (name, unit, rows) = (name.to_owned(), unit.to_owned(), cells.len());
        let cells = run_lengths(cells.iter().flatten().map(|&(_, value)| value));
        let map =
            MemoryMap { name, unit, places, used, rows, columns, places_per_row, cycles_per_column, cells };
        (used > 0).then_some(map)
    }
}

/// Encodes cells as alternating values and repetitions.
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

    /// Draws addresses with their writers and last readers, in both orders, which must give the
    /// same map.
    fn drawn(moments: &Moments, lives: &[(u64, Option<usize>, usize)]) -> MemoryMap {
        let draw = |lives: &mut dyn Iterator<Item = &(u64, Option<usize>, usize)>| {
            let mut mapping = Mapping::new(moments.end());
            for &(place, writer, reader) in lives {
                let Some((writer, cycles)) = moments.life(writer, reader) else { continue };
                mapping.lived(place..place + 1, writer, cycles);
            }
            mapping.finish("m", "words", 1 << 20).unwrap_or_default()
        };
        let map = draw(&mut lives.iter());
        assert_eq!(draw(&mut lives.iter().rev()), map);
        map
    }

    #[test]
    fn a_place_is_drawn_from_its_writer_to_its_last_reader() {
        let moments = Moments::new([(Some(0), 2), (Some(0), 3), (Some(1), 5)]);
        let map = drawn(&moments, &[(0, Some(0), 1), (1, None, 2), (2, Some(2), 2)]);
        assert_eq!((map.rows, map.columns, map.places_per_row, map.cycles_per_column), (3, 10, 1, 1));
        assert_eq!(map.used, 3);
        // Five cycles of layer 0, five free; ten from before; five free, five of layer 1.
        assert_eq!(map.cells, [1, 5, 0, 5, -1, 10, 0, 5, 2, 5]);
    }

    #[test]
    fn instructions_may_be_at_work_at_once() {
        let moments = Moments::spans([(Some(0), 0..4), (Some(1), 1..3), (Some(2), 3..9)]);
        assert_eq!((moments.end(), moments.done(0), moments.done(3)), (9, Some(4), None));
        let map = drawn(&moments, &[(0, Some(0), 0), (1, Some(1), 2)]);
        assert_eq!(map.cells, [1, 4, 0, 6, 2, 8]);
    }

    #[test]
    fn a_cell_shows_the_last_writer_of_its_places() {
        let moments = Moments::new((0..1024).map(|layer| (Some(layer), 1)));
        // Addresses 0 and 1 share a row once address 128 is used, and two instructions share a
        // column.
        let map = drawn(&moments, &[(0, Some(0), 3), (1, Some(1), 1), (0, None, 0), (129, Some(9), 9)]);
        assert_eq!((map.places_per_row, map.cycles_per_column), (2, 2));
        assert_eq!(map.cells[..6], [2, 1, 1, 1, 0, 64 * 512 - 2 + 4]);
    }

    #[test]
    fn many_places_and_cycles_have_a_picture_of_bounded_size() {
        let moments = Moments::new((0..1000).map(|layer| (Some(layer), 1000)));
        let lives: Vec<_> = (0..100_000).map(|place| (place, Some((place % 1000) as usize), 999)).collect();
        let map = drawn(&moments, &lives);
        assert!(map.rows <= ROWS && map.columns as u64 <= COLUMNS, "{} x {}", map.rows, map.columns);
        assert_eq!((map.places_per_row, map.cycles_per_column), (1024, 1954));
        let cells: i64 = map.cells.chunks(2).map(|run| run[1]).sum();
        assert_eq!(cells as usize, map.rows * map.columns);
    }

    #[test]
    fn places_may_be_drawn_together() {
        let (mut one, mut each) = (Mapping::new(9), Mapping::new(9));
        one.lived(3..400, Writer::Layer(None), 2..5);
        (3..400).for_each(|place| each.lived(place..place + 1, Writer::Layer(None), 2..5));
        one.lived(7..7, Writer::Layer(None), 0..9);
        assert_eq!(one.finish("m", "words", 512), each.finish("m", "words", 512));
    }

    #[test]
    fn of_a_program_without_instructions_nothing_is_drawn() {
        assert_eq!(drawn(&Moments::new([]), &[(0, None, 0)]), MemoryMap::default());
    }
}
