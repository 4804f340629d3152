//! [`Writers`]: last writer of each place of an on-chip memory, and whether the written values were
//! read.

use std::ops::Range;

/// Places of a memory that only instructions access, tracked instruction by instruction.
#[derive(Clone, Debug, Default)]
pub struct Writers {
    /// State of each place up to the last written one.
    places: Vec<Last>,
    /// By instruction: how many places still hold its values; 0 once any of them was read. An array
    /// indexed by instruction, since programs read millions of places.
    unread: Vec<u64>,
    overwritten: Vec<Overwritten>,
}

/// Last writer of a place.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Last {
    #[default]
    Nobody,
    /// A writer that is not an instruction.
    Outside,
    Instruction(usize),
}

/// An instruction whose values were all overwritten and never read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overwritten {
    /// Index of the instruction.
    pub writer: usize,
    /// Index of the instruction that overwrote the last of the values.
    pub by: usize,
}

impl Writers {
    /// Records that `count` places starting at `first` are written from outside; `depth` is the
    /// size of the memory.
    pub fn fill(&mut self, first: u64, count: u64, depth: u64) {
        let end = first.saturating_add(count).min(depth);
        (first..end).for_each(|place| _ = self.replace(place, Last::Outside));
    }

    /// Records a read of a place; returns whether it was ever written.
    pub fn read(&mut self, place: u64) -> bool {
        match self.last(place) {
            Last::Nobody => false,
            Last::Outside => true,
            Last::Instruction(writer) => {
                self.forgive(writer);
                true
            }
        }
    }

    /// Records that an instruction writes places, without reading them first.
    pub fn write(&mut self, by: usize, places: impl Iterator<Item = u64>) {
        let mut left = 0;
        for place in places {
            left += 1;
            if let Last::Instruction(writer) = self.replace(place, Last::Instruction(by)) {
                // One instruction writes a place twice.
                if writer == by {
                    left -= 1;
                } else {
                    self.lose(writer, by, 1);
                }
            }
        }
        self.leave(by, left);
    }

    /// Sets the number of places that an instruction has written.
    fn leave(&mut self, by: usize, left: u64) {
        if left > 0 {
            if by >= self.unread.len() {
                self.unread.resize(by + 1, 0);
            }
            self.unread[by] = left;
        }
    }

    /// Records a read of consecutive places, like [`Writers::read`] of each.
    pub fn read_run(&mut self, places: Range<u64>) {
        let places = self.known(places);
        let mut writers: Vec<Last> = self.places[places].to_vec();
        writers.dedup();
        for last in writers {
            if let Last::Instruction(writer) = last {
                self.forgive(writer);
            }
        }
    }

    /// Records a write of consecutive places, like [`Writers::write`] of each. Does nothing if the
    /// memory is not that large.
    pub fn write_run(&mut self, by: usize, places: Range<u64>) {
        let Ok(end) = usize::try_from(places.end) else { return };
        if !places.is_empty() && end > self.places.len() {
            self.places.resize(end, Last::Nobody);
        }
        let places = self.known(places);
        let before = self.places[places.clone()].to_vec();
        for alike in before.chunk_by(PartialEq::eq) {
            if let Some(&Last::Instruction(writer)) = alike.first() {
                self.lose(writer, by, alike.len() as u64);
            }
        }
        self.leave(by, places.len() as u64);
        self.places[places].fill(Last::Instruction(by));
    }

    /// Returns the part of the range that was ever written.
    fn known(&self, places: Range<u64>) -> Range<usize> {
        let all = self.places.len();
        let place = |place: u64| usize::try_from(place).map_or(all, |place| place.min(all));
        let (start, end) = (place(places.start), place(places.end));
        start.min(end)..end
    }

    /// Marks everything that an instruction wrote as read.
    pub fn forgive(&mut self, by: usize) {
        if let Some(left) = self.unread.get_mut(by) {
            *left = 0;
        }
    }

    /// Records that places of a writer are overwritten.
    fn lose(&mut self, writer: usize, by: usize, places: u64) {
        let Some(left) = self.unread.get_mut(writer).filter(|left| **left > 0) else { return };
        *left = left.saturating_sub(places);
        if *left == 0 {
            self.overwritten.push(Overwritten { writer, by });
        }
    }

    fn last(&self, place: u64) -> Last {
        let last = usize::try_from(place).ok().and_then(|place| self.places.get(place));
        // Default: a place beyond the last written one has no writer.
        last.copied().unwrap_or_default()
    }

    fn replace(&mut self, place: u64, by: Last) -> Last {
        let Ok(place) = usize::try_from(place) else { return Last::Nobody };
        if place >= self.places.len() {
            self.places.resize(place + 1, Last::Nobody);
        }
        self.places.get_mut(place).map_or(Last::Nobody, |last| std::mem::replace(last, by))
    }

    /// Returns the instructions whose results were overwritten unread.
    pub fn overwritten(&self) -> &[Overwritten] {
        &self.overwritten
    }

    /// Returns the instructions whose results still exist and were not read so far.
    pub fn unread(&self) -> impl Iterator<Item = usize> {
        self.unread.iter().enumerate().filter(|(_, left)| **left > 0).map(|(writer, _)| writer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_overwritten_or_left() {
        let mut writers = Writers::default();
        writers.fill(0, 2, 8);
        assert!(writers.read(1) && !writers.read(2) && !writers.read(1 << 60));
        writers.write(0, 0..4);
        writers.write(1, [2, 3, 3].into_iter());
        assert_eq!(writers.overwritten(), []);
        writers.write(2, 0..2);
        assert_eq!(writers.overwritten(), [Overwritten { writer: 0, by: 2 }]);
        assert!(writers.read(3));
        writers.write(3, 2..4);
        assert_eq!(writers.overwritten().len(), 1, "1 was read");
        assert_eq!(writers.unread().collect::<Vec<_>>(), [2, 3]);
        writers.forgive(3);
        writers.write(4, 2..4);
        assert_eq!(writers.overwritten().len(), 1);
    }

    #[test]
    fn a_run_is_its_places_one_by_one() {
        let (mut runs, mut places) = (Writers::default(), Writers::default());
        let mut state = 1_u64;
        let mut below = |most: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % most
        };
        for by in 0..400 {
            let first = below(40);
            let run = first..first + below(12);
            if below(3) == 0 {
                runs.read_run(run.clone());
                run.for_each(|place| _ = places.read(place));
            } else {
                runs.write_run(by, run.clone());
                places.write(by, run);
            }
            assert_eq!(runs.overwritten(), places.overwritten());
            assert!(runs.unread().eq(places.unread()), "{by}");
        }
        assert!(runs.overwritten().len() > 50 && runs.unread().count() > 0);
        runs.read_run(u64::MAX - 1..u64::MAX);
    }

    #[test]
    fn an_instruction_that_writes_a_place_twice_wrote_it_once() {
        let mut writers = Writers::default();
        writers.write(0, [5, 5].into_iter());
        writers.write(1, [5].into_iter());
        assert_eq!(writers.overwritten(), [Overwritten { writer: 0, by: 1 }]);
    }
}
