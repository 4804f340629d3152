//! [`Liveness`]: lifetimes of a memory's words, derived from the program's order alone.

use std::collections::{BTreeMap, HashSet};

use crate::map::{Mapping, MemoryMap, Moments};

/// Largest memory whose addresses are tracked.
const MAX_PLACES: u64 = 1 << 22;

/// Lifetimes of a memory's addresses, from the reads and writes of a program's instructions.
#[derive(Debug)]
pub struct Liveness<'a> {
    places: u64,
    /// Content of each address, up to the last one that was used.
    held: Vec<Option<Content>>,
    /// Loads whose words are all unused so far.
    unused: HashSet<usize>,
    uses: BTreeMap<usize, usize>,
    /// Change of the number of live addresses at each instruction.
    changes: Vec<i64>,
    /// Map to draw, if requested.
    mapping: Option<(&'a Moments, Mapping)>,
}

/// Content of an address.
#[derive(Clone, Copy, Debug)]
struct Content {
    /// Instruction that wrote it; `None` if it was there before the program.
    writer: Option<usize>,
    is_load: bool,
    /// Last instruction that read it.
    reader: Option<usize>,
}

/// Use of a memory by a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryUse {
    /// For each load, the first instruction that uses one of its words.
    pub uses: BTreeMap<usize, usize>,
    /// For each instruction, the number of addresses whose content it or a later instruction reads.
    pub live: Vec<u64>,
}

impl<'a> Liveness<'a> {
    /// Tracks a memory with `places` addresses; `None` if there are too many to track.
    pub fn new(places: u64) -> Option<Self> {
        (places <= MAX_PLACES).then(|| Self {
            places,
            held: Vec::new(),
            unused: HashSet::new(),
            uses: BTreeMap::new(),
            changes: Vec::new(),
            mapping: None,
        })
    }

    /// Returns the map of a memory with `places` addresses. `tell` reports the instructions in
    /// program order. `None` if there are too many addresses to track, or if none is used.
    pub fn map(
        name: &str,
        unit: &str,
        places: u64,
        moments: &'a Moments,
        tell: impl FnOnce(&mut Self),
    ) -> Option<MemoryMap> {
        let mut lives = Self::new(places)?;
        lives.mapping = Some((moments, Mapping::new(moments.end())));
        tell(&mut lives);
        lives.end();
        lives.mapping.take()?.1.finish(name, unit, places)
    }

    /// Records that an instruction reads `places`. Addresses beyond the memory are ignored.
    pub fn read(&mut self, instruction: usize, places: impl Iterator<Item = u64>) {
        let limit = self.places;
        let moments = self.mapping.as_ref().map(|(moments, _)| *moments);
        for place in places.filter(|place| *place < limit) {
            let before = Content { writer: None, is_load: false, reader: None };
            let Some(held) = self.at(place) else { continue };
            let held = held.get_or_insert(before);
            held.reader = Some(last_done(moments, held.reader, instruction));
            let Content { writer, is_load, .. } = *held;
            if let Some(load) = writer.filter(|writer| is_load && self.unused.remove(writer)) {
                self.uses.insert(load, instruction);
            }
        }
    }

    /// Records that an instruction writes `places`; `is_load` if the words come from another
    /// memory.
    pub fn write(&mut self, instruction: usize, places: impl Iterator<Item = u64>, is_load: bool) {
        let limit = self.places;
        for place in places.filter(|place| *place < limit) {
            let held = Content { writer: Some(instruction), is_load, reader: None };
            if let Some(old) = self.at(place).and_then(|held_before| held_before.replace(held)) {
                self.lived(place, old);
            }
            if is_load {
                self.unused.insert(instruction);
            }
        }
    }

    /// Returns the results for a program of `instructions` instructions.
    pub fn finish(mut self, instructions: usize) -> MemoryUse {
        self.end();
        self.changes.resize(instructions, 0);
        let mut level = 0;
        let live = self.changes.iter().map(|change| {
            level += change;
            u64::try_from(level).unwrap_or(0) // Default: a lifetime ends after it starts.
        });
        MemoryUse { live: live.collect(), uses: self.uses }
    }

    /// Ends the lifetimes of all current contents.
    fn end(&mut self) {
        let held = std::mem::take(&mut self.held);
        let held = held.into_iter().enumerate();
        held.filter_map(|(place, held)| Some((place as u64, held?)))
            .for_each(|(place, held)| self.lived(place, held));
    }

    /// Returns the content of an address.
    fn at(&mut self, place: u64) -> Option<&mut Option<Content>> {
        let place = usize::try_from(place).ok()?;
        if self.held.len() <= place {
            self.held.resize(place + 1, None);
        }
        self.held.get_mut(place)
    }

    /// Records a lifetime from the writer to the last reader.
    fn lived(&mut self, place: u64, held: Content) {
        let Some(reader) = held.reader else { return };
        if let Some((moments, mapping)) = &mut self.mapping {
            if let Some((writer, cycles)) = moments.life(held.writer, reader) {
                mapping.lived(place..place + 1, writer, cycles);
            }
            return;
        }
        if self.changes.len() < reader + 2 {
            self.changes.resize(reader + 2, 0);
        }
        // Default: content from before the program is needed starting at the first instruction.
        for (at, change) in [(held.writer.unwrap_or(0), 1), (reader + 1, -1)] {
            if let Some(sum) = self.changes.get_mut(at) {
                *sum += change;
            }
        }
    }
}

/// Returns the reader that ends later: the later one in the program, unless engines run in
/// parallel.
fn last_done(moments: Option<&Moments>, known: Option<usize>, reader: usize) -> usize {
    let done = |reader: usize| moments.and_then(|moments| moments.done(reader));
    known.filter(|&known| done(known) > done(reader)).unwrap_or(reader) // Default: the new reader ends last.
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::{Liveness, Moments};

    #[test]
    fn a_map_goes_to_the_reader_that_is_done_last() {
        let moments = Moments::spans([(None, 0..2), (None, 2..9), (None, 2..4), (None, 4..10)]);
        let map = Liveness::map("m", "words", 4, &moments, |lives| {
            lives.write(0, 0..1, true);
            lives.read(1, 0..1);
            lives.read(2, 0..1);
        });
        assert_eq!(map.unwrap().cells, [1, 9, 0, 1]);
    }

    #[test]
    fn places_live_from_their_writer_to_their_last_reader() {
        let mut lives = Liveness::new(8).unwrap();
        lives.write(0, 0..4, true);
        lives.write(1, 4..6, true);
        lives.read(2, 0..2);
        lives.read(3, [0, 9].into_iter());
        lives.write(3, 0..1, false);
        lives.read(4, 0..1);
        lives.read(5, 7..8);
        let found = lives.finish(7);
        // The words of the load in instruction 1 are never used; address 7 was written before the
        // program.
        assert_eq!(found.uses.into_iter().collect::<Vec<_>>(), [(0, 2)]);
        assert_eq!(found.live, [3, 3, 3, 3, 2, 1, 0]);
        assert!(Liveness::new(u64::MAX).is_none());
    }

    #[test]
    fn a_load_into_the_place_of_another_is_used_by_itself() {
        let mut lives = Liveness::new(8).unwrap();
        lives.write(0, 0..1, true);
        lives.read(1, 0..1);
        lives.write(2, 0..1, true);
        lives.read(3, 0..1);
        lives.read(4, 0..1);
        let found = lives.finish(5);
        assert_eq!(found.uses.into_iter().collect::<Vec<_>>(), [(0, 1), (2, 3)]);
        assert_eq!(found.live, [1, 1, 1, 1, 1]);
    }
}
