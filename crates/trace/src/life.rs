//! [`Lives`]: how long the words of a memory are needed, from the program's order alone.

use std::collections::{BTreeMap, HashSet};

use crate::map::{Mapping, MemoryMap, Moments};

/// The largest memory of which all places are remembered.
const MOST_PLACES: u64 = 1 << 22;

/// The places of a memory, as the instructions of a program read and write them.
#[derive(Debug)]
pub struct Lives<'a> {
    places: u64,
    /// By place, up to the last one that was used.
    held: Vec<Option<Held>>,
    /// Loads of which nothing was used yet.
    unused: HashSet<usize>,
    uses: BTreeMap<usize, usize>,
    /// By instruction, how many more places are needed from it on.
    changes: Vec<i64>,
    /// The map that is drawn, when one is asked for.
    mapping: Option<(&'a Moments, Mapping)>,
}

/// What a place holds.
#[derive(Clone, Copy, Debug)]
struct Held {
    /// Who wrote it; none for what was there before.
    writer: Option<usize>,
    is_load: bool,
    /// The last one that read it.
    reader: Option<usize>,
}

/// What a program does with a memory.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// For each load that fills places, the first instruction that uses one of them.
    pub uses: BTreeMap<usize, usize>,
    /// By instruction, the places that hold what it or a later instruction reads.
    pub live: Vec<u64>,
}

impl<'a> Lives<'a> {
    /// A memory of that many places; none when they are too many to be remembered.
    pub fn new(places: u64) -> Option<Self> {
        (places <= MOST_PLACES).then(|| Self {
            places,
            held: Vec::new(),
            unused: HashSet::new(),
            uses: BTreeMap::new(),
            changes: Vec::new(),
            mapping: None,
        })
    }

    /// The map of a memory of that many places, whose instructions `tell` tells of in the order of the program, by when they
    /// are at work; none when the places are too many to be remembered, or none is used.
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

    /// An instruction reads `places`. Those beyond the memory do not count.
    pub fn read(&mut self, instruction: usize, places: impl Iterator<Item = u64>) {
        let limit = self.places;
        let moments = self.mapping.as_ref().map(|(moments, _)| *moments);
        for place in places.filter(|place| *place < limit) {
            let before = Held { writer: None, is_load: false, reader: None };
            let Some(held) = self.at(place) else { continue };
            let held = held.get_or_insert(before);
            held.reader = Some(last_done(moments, held.reader, instruction));
            let Held { writer, is_load, .. } = *held;
            if let Some(load) = writer.filter(|writer| is_load && self.unused.remove(writer)) {
                self.uses.insert(load, instruction);
            }
        }
    }

    /// An instruction writes `places`, perhaps with what it loads from another memory.
    pub fn write(&mut self, instruction: usize, places: impl Iterator<Item = u64>, is_load: bool) {
        let limit = self.places;
        for place in places.filter(|place| *place < limit) {
            let held = Held { writer: Some(instruction), is_load, reader: None };
            if let Some(old) = self.at(place).and_then(|held_before| held_before.replace(held)) {
                self.lived(place, old);
            }
            if is_load {
                self.unused.insert(instruction);
            }
        }
    }

    /// What was found, of a program of so many instructions.
    pub fn finish(mut self, instructions: usize) -> Found {
        self.end();
        self.changes.resize(instructions, 0);
        let mut level = 0;
        let live = self.changes.iter().map(|change| {
            level += change;
            u64::try_from(level).unwrap_or(0) // Default: every place is given up after it was needed.
        });
        Found { live: live.collect(), uses: self.uses }
    }

    /// What places still hold has lived.
    fn end(&mut self) {
        let held = std::mem::take(&mut self.held);
        let held = held.into_iter().enumerate();
        held.filter_map(|(place, held)| Some((place as u64, held?)))
            .for_each(|(place, held)| self.lived(place, held));
    }

    /// What a place holds.
    fn at(&mut self, place: u64) -> Option<&mut Option<Held>> {
        let place = usize::try_from(place).ok()?;
        if self.held.len() <= place {
            self.held.resize(place + 1, None);
        }
        self.held.get_mut(place)
    }

    /// A place was needed from its writer to its last reader.
    fn lived(&mut self, place: u64, held: Held) {
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
        // Default: what was there before is needed from the first instruction on.
        for (at, change) in [(held.writer.unwrap_or(0), 1), (reader + 1, -1)] {
            if let Some(sum) = self.changes.get_mut(at) {
                *sum += change;
            }
        }
    }
}

/// Which of two readers is done last: the later one of the program, but where engines work at once.
fn last_done(moments: Option<&Moments>, known: Option<usize>, reader: usize) -> usize {
    let done = |reader: usize| moments.and_then(|moments| moments.done(reader));
    known.filter(|&known| done(known) > done(reader)).unwrap_or(reader) // Default: nobody else is done later.
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::{Lives, Moments};

    #[test]
    fn a_map_goes_to_the_reader_that_is_done_last() {
        let moments = Moments::spans([(None, 0..2), (None, 2..9), (None, 2..4), (None, 4..10)]);
        let map = Lives::map("m", "words", 4, &moments, |lives| {
            lives.write(0, 0..1, true);
            lives.read(1, 0..1);
            lives.read(2, 0..1);
        });
        assert_eq!(map.unwrap().cells, [1, 9, 0, 1]);
    }

    #[test]
    fn places_live_from_their_writer_to_their_last_reader() {
        let mut lives = Lives::new(8).unwrap();
        lives.write(0, 0..4, true);
        lives.write(1, 4..6, true);
        lives.read(2, 0..2);
        lives.read(3, [0, 9].into_iter());
        lives.write(3, 0..1, false);
        lives.read(4, 0..1);
        lives.read(5, 7..8);
        let found = lives.finish(7);
        // Instruction 1 loads for nobody; place 7 was written before the program.
        assert_eq!(found.uses.into_iter().collect::<Vec<_>>(), [(0, 2)]);
        assert_eq!(found.live, [3, 3, 3, 3, 2, 1, 0]);
        assert!(Lives::new(u64::MAX).is_none());
    }

    #[test]
    fn a_load_into_the_place_of_another_is_used_by_itself() {
        let mut lives = Lives::new(8).unwrap();
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
