//! Reports to an [`Observer`] which words of the cells' memories are read and written in a cycle,
//! consistent with [`super::transfer`] and the register files.

use super::Machine;
use super::observer::{How, Observer, Touch};
use super::shadow::outgoing;
use crate::config::fabric::ROW_WORDS;
use crate::machine::exec::word::Word;
use crate::machine::exec::{iosram, rf};
use crate::machine::state::{Bulk, CellState};

impl<W: Word> Machine<W> {
    /// Mutable access to a word of a memory, which is selected by its first slot; `None` if it does
    /// not exist.
    pub(crate) fn word_mut(&mut self, cell: usize, slot: u8, word: usize) -> Option<&mut W> {
        let cell = self.cells.get_mut(cell)?;
        let rfs = cell.rfs.iter_mut().map(|rf| (rf.slot, &mut rf.rows));
        let mut all = rfs.chain(cell.iosrams.iter_mut().map(|part| (part.slot, &mut part.rows)));
        let (_, rows) = all.find(|(first, _)| *first == slot)?;
        rows.get_mut(word / ROW_WORDS)?.get_mut(word % ROW_WORDS)
    }

    /// Reports the words of a cycle, after its addresses are known and before its words are moved.
    pub(super) fn tell_words(&self, cycle: u64, due: &[usize], observer: &mut impl Observer) {
        for &cell in due {
            self.reads(cell, &mut |cell, slot, word, words, how| {
                observer.touch(Touch { cycle, cell, slot, word, words, how });
            });
        }
        for &cell in due {
            writes(&self.cells[cell], &mut |slot, word, words| {
                observer.touch(Touch { cycle, cell, slot, word, words, how: How::Write });
            });
        }
    }

    /// Reports the words that are read for a cell: cell, slot, first word, number of words, kind of
    /// access.
    fn reads(&self, index: usize, tell: &mut impl FnMut(usize, u8, usize, usize, How)) {
        let cell = &self.cells[index];
        let ports = &cell.ports;
        for rf in &cell.rfs {
            if let Some(word) = ports.address(rf.slot, rf::WORD_READ) {
                tell(index, rf.slot, word, 1, How::Read);
            }
            if ports.address(rf.slot, rf::BULK_WRITE).is_some() {
                self.arriving_row(index, rf.slot, tell);
            }
        }
        for part in &cell.iosrams {
            let slot = part.slot;
            if let (Some(_), Some(row)) =
                (ports.address(slot, iosram::OUTPUT_BUFFER), ports.address(slot, iosram::SRAM_READ))
            {
                tell(index, slot, row * ROW_WORDS, ROW_WORDS, How::Carry);
            }
            let is_dropped = ports.address(slot, iosram::SRAM_WRITE).is_some();
            if ports.address(slot + 1, iosram::BULK_WRITE).is_some() && !is_dropped {
                self.arriving_row(index, slot + 1, tell);
            }
        }
    }

    /// Reports the row that arrives at a slot, if one is sent.
    fn arriving_row(&self, index: usize, slot: u8, tell: &mut impl FnMut(usize, u8, usize, usize, How)) {
        let Some((from, sender)) = self.sender(index, slot) else { return };
        let cell = &self.cells[from];
        let part = cell.bulk[usize::from(sender)];
        if let (Some((row, _)), Some(slot)) = (outgoing(cell, part), slot_of(cell, part)) {
            tell(from, slot, row * ROW_WORDS, ROW_WORDS, How::Carry);
        }
    }
}

/// Reports the words that are written in a cell.
fn writes<W: Word>(cell: &CellState<W>, tell: &mut impl FnMut(u8, usize, usize)) {
    let ports = &cell.ports;
    for rf in &cell.rfs {
        let bulk = ports.address(rf.slot, rf::BULK_WRITE);
        let word = ports.address(rf.slot, rf::WORD_WRITE);
        if let Some(word) = word.filter(|word| bulk != Some(word / ROW_WORDS)) {
            tell(rf.slot, word, 1);
        }
        if let Some(row) = bulk {
            tell(rf.slot, row * ROW_WORDS, ROW_WORDS);
        }
    }
    for part in &cell.iosrams {
        let bulk = ports.address(part.slot + 1, iosram::BULK_WRITE);
        if let Some(row) = ports.address(part.slot, iosram::SRAM_WRITE).or(bulk) {
            tell(part.slot, row * ROW_WORDS, ROW_WORDS);
        }
    }
}

/// First slot of a component with rows.
fn slot_of<W: Word>(cell: &CellState<W>, part: Bulk) -> Option<u8> {
    match part {
        Bulk::None => None,
        Bulk::Rf(number) => cell.rfs.get(usize::from(number)).map(|rf| rf.slot),
        Bulk::Iosram(number) => cell.iosrams.get(usize::from(number)).map(|part| part.slot),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use std::collections::{BTreeMap, BTreeSet};

    use super::super::Machine;
    use super::*;
    use crate::clock::{Life, Liveness, Store};
    use crate::config::fabric::Row;
    use crate::lower::example::executable;
    use crate::program::call::Call;
    use crate::program::executable::Executable;

    type Needed = BTreeMap<Store, Vec<Life>>;

    /// Returns the results of a call, and the number of words and rows. With `needed`, everything
    /// that is not needed is overwritten before each cycle, and before the results are taken.
    fn results(
        executable: &Executable,
        kernel: usize,
        call: &Call,
        needed: Option<&Needed>,
    ) -> (Vec<Vec<i16>>, usize) {
        let mut machine =
            Machine::new(&executable.fabric, &executable.kernels[kernel].compiled.program).unwrap();
        let value = |row: usize, word: usize| ((row * 37 + word * 11) % 61) as i16 * 71 - 1_300;
        let image =
            (0..call.input_rows()).map(|row| (row as u32, std::array::from_fn(|word| value(row, word))));
        machine.set_input(&image.collect()).unwrap();
        machine.begin();
        let (mut destroyed, mut at) = (0, 0);
        while machine.halted < machine.cells.len() {
            at = machine.cells.iter().map(|cell| cell.wake).min().unwrap();
            destroyed += needed.map_or(0, |needed| destroy(&mut machine, at, needed, call.input_rows()));
            machine.cycle(at, &mut ()).unwrap();
        }
        at = at.max(executable.kernels[kernel].cycles() - 1);
        destroyed += needed.map_or(0, |needed| destroy(&mut machine, at, needed, call.input_rows()));
        (call.taken(&machine).unwrap(), destroyed)
    }

    fn destroy(machine: &mut Machine, cycle: u64, needed: &Needed, inputs: usize) -> usize {
        let now = |store: Store| -> BTreeSet<usize> {
            let lives = needed.get(&store).into_iter().flatten();
            lives.filter(|life| life.cycles.contains(&cycle)).map(|life| life.place).collect()
        };
        let mut destroyed = 0;
        for (number, cell) in machine.cells.iter_mut().enumerate() {
            let rfs = cell.rfs.iter_mut().map(|rf| (rf.slot, &mut rf.rows));
            for (slot, rows) in rfs.chain(cell.iosrams.iter_mut().map(|part| (part.slot, &mut part.rows))) {
                let live = now(Store::Cell(number, slot));
                let words = rows.iter_mut().flatten().enumerate().filter(|(word, _)| !live.contains(word));
                destroyed += words.map(|(word, value)| *value = -7_777 ^ word as i16).count();
            }
        }
        let garbage: Row = [-5_555; ROW_WORDS];
        let (input, output) = (now(Store::Input), now(Store::Output));
        for row in (0..inputs).filter(|row| !input.contains(row)) {
            machine.input.write(row, garbage).unwrap();
            destroyed += 1;
        }
        for row in (0..machine.fabric.output_depth).filter(|row| !output.contains(row)) {
            machine.output.write(row, garbage).unwrap();
        }
        destroyed
    }

    #[test]
    fn what_is_not_needed_makes_no_difference() {
        for fabric in ["3x1", "3x2"] {
            let executable = executable(fabric);
            let (mut seen, mut telling) = (BTreeSet::new(), 0);
            for (_, kernel, call) in executable.numbered().filter(|(_, kernel, _)| seen.insert(*kernel)) {
                let mut lives = Liveness::default();
                executable.watch(kernel, call, &mut lives).unwrap();
                let cycles = executable.kernels[kernel].cycles();
                let needed = lives.finish(cycles, call.output_lines());
                for (store, lives) in &needed {
                    assert!(lives.iter().all(|life| life.cycles.end <= cycles), "{store:?}");
                    // As in the proof of a kernel, no unwritten word is read: only inputs come from
                    // before the run.
                    let is_input = *store == Store::Input;
                    assert!(lives.iter().all(|life| life.is_written != is_input), "{store:?}");
                }
                let (expected, _) = results(&executable, kernel, call, None);
                let (found, destroyed) = results(&executable, kernel, call, Some(&needed));
                assert_eq!(found, expected, "{fabric}, kernel {kernel}");
                assert!(destroyed > 0);
                telling += usize::from(expected.iter().flatten().collect::<BTreeSet<_>>().len() > 3);
                // Each row that holds results is needed until the end.
                assert_eq!(needed[&Store::Output].len(), call.output_lines().count());
            }
            assert!(telling > 2, "{telling} of {seen:?} have results of several values");
        }
    }
}
