//! [`maps`]: lifetimes of the memories' contents.
//!
//! A kernel call does not depend on the tensors' contents, so each kernel is run once and drawn for
//! each call.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use npukit_trace::{Mapping, MemoryMap, Writer};

use crate::clock::{Life, Store};
use crate::config::fabric::{Fabric, ROW_WORDS};

/// Maximum number of maps. The remaining memories share the last one.
const MAX_MAPS: usize = 32;

/// Lifetimes in a kernel call, by memory.
pub(super) type Needed = BTreeMap<Store, Vec<Life>>;

/// Kernel call to draw.
pub(super) struct Shown {
    /// Index of the kernel.
    pub kernel: usize,
    /// Index of the layer, if there are several.
    pub layer: Option<usize>,
    /// First cycle.
    pub start: u64,
    /// Length in cycles.
    pub cycles: u64,
}

/// Returns maps of the lifetimes of rows of the buffers and words of the cells' memories, for calls
/// one after the other. `kernels` has the lifetimes of each kernel, by its index.
///
/// The driver writes the input buffer for a call's layer at the start of the call (for an assembly
/// program: before the program). Rows that it takes out of the output buffer are needed until the
/// end of the call. Unwritten words of a moved row are not needed; other unwritten words were there
/// before. Unused memories have no map. Registers of dpus and instructions are left out.
pub(super) fn maps(
    fabric: &Fabric,
    cycles: u64,
    kernels: &BTreeMap<usize, Needed>,
    calls: impl Iterator<Item = Shown>,
) -> Vec<MemoryMap> {
    let mut atlas = Atlas::new(fabric, cycles, kernels);
    let merged: BTreeMap<usize, Vec<Span>> =
        kernels.iter().map(|(number, needed)| (*number, merged(needed))).collect();
    // The layer of the column's last call, and the kernels drawn so far for that layer.
    let (mut drawn, mut at) = (BTreeSet::new(), None);
    for call in calls {
        let Shown { kernel, layer, start, cycles } = call;
        let column = atlas.clock.column(start);
        if column == atlas.clock.column((start + cycles).saturating_sub(1)) {
            if at.replace((column, layer)) != Some((column, layer)) {
                drawn.clear();
            }
            if drawn.insert(kernel) {
                let spans = merged.get(&kernel).into_iter().flatten();
                spans.for_each(|span| atlas.draw(span, layer, start..start + cycles));
            }
        } else {
            let lives = kernels.get(&kernel).into_iter().flatten();
            for (&store, life) in lives.flat_map(|(store, lives)| lives.iter().map(move |life| (store, life)))
            {
                let Life { place, is_written, ref cycles } = *life;
                let span = Span { store, places: place..place + 1, is_written };
                atlas.draw(&span, layer, start + cycles.start..start + cycles.end);
            }
        }
    }
    atlas.finish()
}

/// Range of addresses with equal lifetimes.
struct Span {
    store: Store,
    places: Range<usize>,
    is_written: bool,
}

/// Merges the addresses that are needed at any time, for a call within one column.
fn merged(needed: &Needed) -> Vec<Span> {
    let mut spans: Vec<Span> = Vec::new();
    for (&store, lives) in needed {
        for is_written in [false, true] {
            let lives = lives.iter().filter(|life| life.is_written == is_written);
            for place in lives.map(|life| life.place).collect::<BTreeSet<usize>>() {
                match spans.last_mut() {
                    Some(last)
                        if last.store == store
                            && last.is_written == is_written
                            && last.places.end == place =>
                    {
                        last.places.end += 1;
                    }
                    _ => spans.push(Span { store, places: place..place + 1, is_written }),
                }
            }
        }
    }
    spans
}

/// Maps under construction.
struct Atlas {
    /// Mapping of cycles to columns.
    clock: Mapping,
    sheets: Vec<Sheet>,
    /// Sheet of each memory, and its first address in the sheet.
    memories: BTreeMap<Store, (usize, usize)>,
}

struct Sheet {
    name: String,
    places: usize,
    /// Unit of an address.
    unit: &'static str,
    mapping: Mapping,
}

impl Atlas {
    fn new(fabric: &Fabric, cycles: u64, kernels: &BTreeMap<usize, Needed>) -> Self {
        let used: BTreeSet<Store> = kernels.values().flat_map(|needed| needed.keys().copied()).collect();
        let mut atlas = Self { clock: Mapping::new(cycles), sheets: Vec::new(), memories: BTreeMap::new() };
        for (index, &store) in used.iter().enumerate() {
            let (name, places) = describe(fabric, store);
            let is_shared = index >= MAX_MAPS;
            match atlas.sheets.last_mut().filter(|_| is_shared) {
                Some(last) => {
                    atlas.memories.insert(store, (MAX_MAPS - 1, last.places));
                    last.name = format!("{} memories of cells", used.len() + 1 - MAX_MAPS);
                    last.places += places;
                }
                None => {
                    let (unit, mapping) = (store.unit(), Mapping::new(cycles));
                    atlas.memories.insert(store, (atlas.sheets.len(), 0));
                    atlas.sheets.push(Sheet { name, places, unit, mapping });
                }
            }
        }
        atlas
    }

    fn draw(&mut self, span: &Span, layer: Option<usize>, cycles: Range<u64>) {
        let Some(&(sheet, before)) = self.memories.get(&span.store) else { return };
        let Some(sheet) = self.sheets.get_mut(sheet) else { return };
        // In calls of a model, the driver has filled the input buffer for the layer.
        let is_loaded = span.store == Store::Input && layer.is_some();
        let writer = if span.is_written || is_loaded { Writer::Layer(layer) } else { Writer::Before };
        let place = |place: usize| (before + place) as u64;
        sheet.mapping.lived(place(span.places.start)..place(span.places.end), writer, cycles);
    }

    fn finish(self) -> Vec<MemoryMap> {
        let maps = self
            .sheets
            .into_iter()
            .filter_map(|sheet| sheet.mapping.finish(&sheet.name, sheet.unit, sheet.places as u64));
        maps.collect()
    }
}

/// Returns a memory's name and number of addresses.
fn describe(fabric: &Fabric, store: Store) -> (String, usize) {
    match store {
        Store::Input => ("input buffer".to_owned(), fabric.input_depth),
        Store::Output => ("output buffer".to_owned(), fabric.output_depth),
        Store::Cell(cell, slot) => {
            let mut parts = fabric.cells.get(cell).into_iter().flat_map(|cell| &cell.resources);
            let part = parts.find(|part| part.slot == slot).map(|part| (part.component.name(), part.rows));
            let (name, rows) = part.unwrap_or_default(); // Default: a used memory is a part of its cell.
            (format!("{} {name} {slot}", fabric.place(cell)), rows * ROW_WORDS)
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::config::preset;

    fn life(place: usize, cycles: Range<u64>, is_written: bool) -> Life {
        Life { place, cycles, is_written }
    }

    fn needed() -> Needed {
        BTreeMap::from([
            (Store::Input, vec![life(0, 0..3, false), life(1, 0..2, false)]),
            (Store::Output, vec![life(1, 6..10, true)]),
            (Store::Cell(1, 1), vec![life(5, 1..4, true), life(5, 6..7, true), life(6, 2..4, true)]),
        ])
    }

    fn shown(kernel: usize, layer: Option<usize>, start: u64, cycles: u64) -> Shown {
        Shown { kernel, layer, start, cycles }
    }

    #[test]
    fn calls_are_drawn_one_after_the_other() {
        let fabric = preset("3x1").unwrap();
        let kernels = BTreeMap::from([(0, needed())]);
        let found =
            maps(&fabric, 20, &kernels, [0, 1].map(|at| shown(0, Some(at), at as u64 * 10, 10)).into_iter());
        let names: Vec<_> = found.iter().map(|map| (&map.name[..], &map.unit[..], map.used)).collect();
        let (buffer, cell) = ("rows of 16 words", names[2].0);
        assert_eq!(names, [("input buffer", buffer, 2), ("output buffer", buffer, 2), (cell, "words", 7)]);
        assert!(cell.starts_with("(1, 0) ") && cell.ends_with(" 1"), "{cell}");
        assert_eq!(found[0].cells, [1, 3, 0, 7, 2, 3, 0, 7, 1, 2, 0, 8, 2, 2, 0, 8]);
        assert_eq!(found[1].cells, [0, 20 + 6, 1, 4, 0, 6, 2, 4]);
        let words =
            [0, 5 * 20 + 1, 1, 3, 0, 2, 1, 1, 0, 4, 2, 3, 0, 2, 2, 1, 0, 3 + 2, 1, 2, 0, 8, 2, 2, 0, 6];
        assert_eq!(found[2].cells, words);
        // For an assembly program, the input buffer was filled before the run.
        let found = maps(&fabric, 10, &kernels, std::iter::once(shown(0, None, 0, 10)));
        assert_eq!((found[0].cells[0], found[1].cells[2]), (-1, 1));
    }

    /// Calls within a column are drawn at once, as the union of their lifetimes.
    #[test]
    fn short_calls_are_drawn_as_long_ones() {
        let fabric = preset("3x1").unwrap();
        let other = BTreeMap::from([(Store::Cell(1, 1), vec![life(9, 0..2, true), life(2, 1..3, false)])]);
        let kernels = BTreeMap::from([(0, needed()), (1, other)]);
        let mut now = 0;
        let calls: Vec<Shown> = (0..5_000)
            .map(|at: usize| {
                let cycles = [10, 3][at % 3 % 2];
                now += cycles;
                shown(at % 3 % 2, Some(at / 37), now - cycles, cycles)
            })
            .collect();
        let mut atlas = Atlas::new(&fabric, now, &kernels);
        for Shown { kernel, layer, start, .. } in &calls {
            for (&store, life) in
                kernels[kernel].iter().flat_map(|(store, all)| all.iter().map(move |life| (store, life)))
            {
                let Life { place, is_written, ref cycles } = *life;
                let span = Span { store, places: place..place + 1, is_written };
                atlas.draw(&span, *layer, start + cycles.start..start + cycles.end);
            }
        }
        let literal = atlas.finish();
        assert!(literal[0].cycles_per_column > 20);
        assert_eq!(maps(&fabric, now, &kernels, calls.into_iter()), literal);
    }

    #[test]
    fn many_memories_share_the_last_map() {
        let fabric = preset("3x1").unwrap();
        let used = |cell| (Store::Cell(cell, 1), vec![life(cell, 0..1, true)]);
        let kernels = BTreeMap::from([(0, (0..100).map(used).collect::<Needed>())]);
        let found = maps(&fabric, 4, &kernels, std::iter::once(shown(0, None, 0, 4)));
        assert_eq!((found.len(), &found[31].name[..]), (32, "69 memories of cells"));
    }
}
