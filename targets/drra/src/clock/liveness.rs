//! [`Liveness`]: lifetimes of the words of each memory in a run.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::machine::{Access, How, Observer, Touch};

/// Memory of the fabric. Addresses of a buffer are rows, addresses of other memories are words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Store {
    /// The input buffer.
    Input,
    /// The output buffer.
    Output,
    /// Register file or memory at a slot of a cell.
    Cell(usize, u8),
}

/// Lifetime of an address: from the cycle in which it is written to the last cycle in which it is
/// read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Life {
    /// Address in the memory.
    pub place: usize,
    /// Cycles of the lifetime. It starts at 0 if the address was not written in the run.
    pub cycles: Range<u64>,
    /// Whether the address was written in the run.
    pub is_written: bool,
}

/// Observer that collects lifetimes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Liveness {
    stores: BTreeMap<Store, Memory>,
}

/// Lifetimes of a memory.
#[derive(Clone, Debug, Default)]
struct Memory {
    /// Current content of each address.
    held: Vec<Option<Content>>,
    lives: Vec<Life>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Content {
    /// Cycle of the write; `None` if the content was there before the run.
    from: Option<u64>,
    /// End of the last read.
    until: Option<u64>,
}

impl Memory {
    fn at(&mut self, place: usize) -> &mut Option<Content> {
        if self.held.len() <= place {
            self.held.resize(place + 1, None);
        }
        &mut self.held[place]
    }

    fn write(&mut self, place: usize, cycle: u64) {
        let new = Content { from: Some(cycle), until: None };
        let old = self.at(place).replace(new);
        self.lives.extend(old.and_then(|old| life(place, old)));
    }

    fn read(&mut self, place: usize, cycle: u64) {
        self.at(place).get_or_insert_default().until = Some(cycle + 1);
    }

    /// Extends the lifetime of the content, if there is any, to this cycle.
    fn carry(&mut self, place: usize, cycle: u64) {
        if let Some(held) = self.at(place) {
            held.until = Some(cycle + 1);
        }
    }

    fn end(mut self) -> Vec<Life> {
        let held = self.held.into_iter().enumerate();
        self.lives.extend(held.filter_map(|(place, held)| life(place, held?)));
        self.lives
    }
}

/// Returns the lifetime, or `None` if the content was never read.
fn life(place: usize, Content { from, until }: Content) -> Option<Life> {
    // Default: content from before the run is needed starting at the first cycle.
    Some(Life { place, cycles: from.unwrap_or(0)..until?, is_written: from.is_some() })
}

impl Liveness {
    /// Returns the lifetimes of a run of `cycles` cycles, after which the driver reads the rows
    /// `taken` of the output buffer.
    pub fn finish(mut self, cycles: u64, taken: impl Iterator<Item = usize>) -> BTreeMap<Store, Vec<Life>> {
        let output = self.stores.entry(Store::Output).or_default();
        taken.for_each(|row| output.carry(row, cycles.saturating_sub(1)));
        let found = self.stores.into_iter().map(|(store, memory)| (store, memory.end()));
        found.filter(|(_, lives)| !lives.is_empty()).collect()
    }
}

impl Observer for Liveness {
    fn access(&mut self, Access { cycle, is_write, row, .. }: Access) {
        match is_write {
            true => self.stores.entry(Store::Output).or_default().write(row, cycle),
            false => self.stores.entry(Store::Input).or_default().read(row, cycle),
        }
    }

    fn follows_words(&self) -> bool {
        true
    }

    fn touch(&mut self, Touch { cycle, cell, slot, word, words, how }: Touch) {
        let memory = self.stores.entry(Store::Cell(cell, slot)).or_default();
        for place in word..word + words {
            match how {
                How::Read => memory.read(place, cycle),
                How::Carry => memory.carry(place, cycle),
                How::Write => memory.write(place, cycle),
            }
        }
    }
}

impl Store {
    /// Unit of an address.
    pub const fn unit(self) -> &'static str {
        match self {
            Self::Input | Self::Output => "rows of 16 words",
            Self::Cell(..) => "words",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lives(found: &BTreeMap<Store, Vec<Life>>, store: Store) -> Vec<(usize, Range<u64>, bool)> {
        found[&store].iter().map(|life| (life.place, life.cycles.clone(), life.is_written)).collect()
    }

    #[test]
    fn words_live_from_their_writer_to_their_last_reader() {
        let mut follow = Liveness::default();
        let mut touch =
            |cycle, word, words, how| follow.touch(Touch { cycle, cell: 3, slot: 2, word, words, how });
        touch(4, 0, 16, How::Write);
        touch(5, 1, 1, How::Read);
        touch(6, 0, 16, How::Carry);
        touch(7, 1, 1, How::Write);
        touch(8, 20, 1, How::Read);
        touch(9, 16, 16, How::Carry);
        touch(9, 40, 1, How::Write);
        for (cycle, is_write, row) in [(2, false, 5), (3, false, 5), (7, true, 0), (8, true, 1)] {
            follow.access(Access { cycle, is_write, col: 0, row });
        }
        let found = follow.finish(12, [1, 2].into_iter());
        assert_eq!(lives(&found, Store::Input), [(5, 0..4, false)]);
        assert_eq!(lives(&found, Store::Output), [(1, 8..12, true)], "row 0 is not taken, row 2 not written");
        let mut words = lives(&found, Store::Cell(3, 2));
        words.sort_by_key(|word| word.0);
        // Word 1 is overwritten and never read. Word 20 is read and carried over, but not written.
        let row = (0..16).map(|word| (word, 4..7, true));
        assert_eq!(words, row.chain([(20, 0..10, false)]).collect::<Vec<_>>());
    }
}
