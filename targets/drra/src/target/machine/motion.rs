//! [`DrraMachine::words_in_motion`]: words between the files and the dpus of the cells, cycle by
//! cycle.
//!
//! The machine determines everything: in each cycle, the words that leave slots, the links of the
//! switchboxes and the addresses of ports.

use std::collections::{BTreeMap, BTreeSet};

use npukit_target::TargetError;
use npukit_target::motion::{Motion, Names, PlaceKind, ValueKind, Visit};

use super::DrraMachine;
use crate::machine::Machine;
use crate::machine::exec::rf::{WORD_READ, WORD_WRITE};
use crate::machine::state::CellState;

/// Maximum number of cycles that are drawn.
const CYCLES: usize = 20;

/// Component of the fabric: index of its cell, and its slot.
type Slot = (usize, u8);

/// Word that goes from one slot to another in a cycle.
struct Moved {
    cycle: u64,
    from: Slot,
    to: Slot,
    /// Meaning of the word for a dpu; `None` for a word that a file stores.
    operand: Option<ValueKind>,
    word: f64,
}

/// Words that move in the next cycles.
#[derive(Default)]
struct Film {
    moved: Vec<Moved>,
    /// Output of each dpu after each cycle.
    outputs: BTreeMap<(Slot, u64), f64>,
}

impl DrraMachine {
    /// Implements [`npukit_target::Machine::motion`]: draws the next cycles, if a word moves in the
    /// first of them.
    pub(super) fn words_in_motion(&self) -> Result<Option<Motion>, TargetError> {
        let first = self.position as u64;
        let film = self.film()?;
        if film.moved.first().is_none_or(|moved| moved.cycle != first) {
            return Ok(None);
        }
        let places = self.machine.fabric().places();
        let names: Vec<String> = places.map(|place| format!("{}.{}", place.row, place.col)).collect();
        let mut motion = film.motion(first, &names);
        motion.notes.push(
            "A dpu takes its operands in a cycle and has the result in the next one. Rows of 16 words are \
             not drawn."
                .to_owned(),
        );
        if self.position + CYCLES < npukit_target::Machine::steps(self) {
            motion.notes.push(format!("Only {CYCLES} cycles are drawn."));
        }
        Ok(Some(motion))
    }

    /// Runs a copy for the next cycles.
    fn film(&self) -> Result<Film, TargetError> {
        let (mut machine, mut film) = (self.machine.clone(), Film::default());
        let end = (self.position + CYCLES).min(npukit_target::Machine::steps(self));
        for cycle in self.position as u64..end as u64 {
            // In a cycle that the machine skips, nothing happens.
            if machine.has_halted() || machine.next_cycle() != cycle {
                continue;
            }
            let before = machine.clone();
            machine.advance(&mut ()).map_err(TargetError::failed)?;
            film.add(cycle, &before, &machine);
        }
        Ok(film)
    }
}

impl Film {
    /// Adds the words that move in a cycle. Links are those before the cycle; addresses and words
    /// are those in it.
    fn add(&mut self, cycle: u64, before: &Machine, after: &Machine) {
        for (index, (old, new)) in before.cells().iter().zip(after.cells()).enumerate() {
            for dpu in &new.dpus {
                self.outputs.insert(((index, dpu.slot), cycle), dpu.out.into());
            }
            if old.wake > cycle {
                continue;
            }
            let mut add = |to: u8, at: u8, operand| {
                let from = old.swb.source_of(to);
                let word = new.words[usize::from(from & 31)].into();
                self.moved.push(Moved { cycle, from: (index, from), to: (index, at), operand, word });
            };
            for dpu in &new.dpus {
                for (slot, operand) in [(dpu.slot, ValueKind::Operand), (dpu.slot + 1, ValueKind::Factor)] {
                    if reads(new, old.swb.source_of(slot)) {
                        add(slot, dpu.slot, Some(operand));
                    }
                }
            }
            for rf in &new.rfs {
                let is_known = is_component(new, old.swb.source_of(rf.slot));
                if is_known && new.ports.address(rf.slot, WORD_WRITE).is_some() {
                    add(rf.slot, rf.slot, None);
                }
            }
        }
    }

    /// Returns the motion. Each component has a row; files are at the left, dpus at the right.
    fn motion(&self, first: u64, cells: &[String]) -> Motion {
        let names = Names { operand: "first operand", held: "second operand", sum: "result" };
        let mut motion = Motion::new(names);
        let dpus: BTreeSet<Slot> =
            self.moved.iter().filter(|moved| moved.operand.is_some()).map(|moved| moved.to).collect();
        let is_dpu = |slot: &Slot| self.outputs.contains_key(&(*slot, first));
        let used: BTreeSet<Slot> = self.moved.iter().flat_map(|moved| [moved.from, moved.to]).collect();
        let mut places = BTreeMap::new();
        for (row, slot) in used.into_iter().enumerate() {
            let (kind, column, name) =
                if is_dpu(&slot) { (PlaceKind::Unit, 1, "dpu") } else { (PlaceKind::Memory, 0, "rf") };
            places.insert(slot, motion.place(kind, (row, column), None));
            motion.rows.push(format!("{} {name} {}", cells[slot.0], slot.1));
        }
        for moved in self.moved.iter().filter(|moved| moved.operand.is_some() || !is_dpu(&moved.from)) {
            let visit = |cycle, slot| Visit { cycle, place: places[&slot], value: moved.word };
            // One cycle before the move, the word is still in its file.
            let earlier = (moved.cycle > first).then(|| visit(moved.cycle - 1, moved.from));
            let visits = earlier.into_iter().chain([visit(moved.cycle, moved.to)]).collect();
            motion.value(moved.operand.unwrap_or(ValueKind::Operand), visits); // Default: a copy between files.
        }
        dpus.into_iter().for_each(|dpu| self.results(dpu, &places, &mut motion));
        motion
    }

    /// Adds the results of a dpu: each stays there from its first operands until a file stores it.
    fn results(&self, dpu: Slot, places: &BTreeMap<Slot, usize>, motion: &mut Motion) {
        let last = self.moved.last().map_or(0, |moved| moved.cycle); // Default: no word moves.
        let first = self.moved.first().map_or(0, |moved| moved.cycle); // Default: no word moves.
        let mut visits = Vec::new();
        for cycle in first..=last {
            let now = || self.moved.iter().filter(move |moved| moved.cycle == cycle);
            for stored in now().filter(|moved| moved.operand.is_none() && moved.from == dpu) {
                let mut all = std::mem::take(&mut visits);
                all.push(Visit { cycle, place: places[&stored.to], value: stored.word });
                motion.value(ValueKind::Sum, all);
            }
            let takes = now().any(|moved| moved.operand.is_some() && moved.to == dpu);
            if let Some(&value) = self.outputs.get(&(dpu, cycle)).filter(|_| takes || !visits.is_empty()) {
                visits.push(Visit { cycle, place: places[&dpu], value });
            }
        }
        if !visits.is_empty() {
            motion.value(ValueKind::Sum, visits);
        }
    }
}

/// Whether a file at a slot sends a word in this cycle.
fn reads(cell: &CellState, slot: u8) -> bool {
    cell.rfs.iter().any(|rf| rf.slot == slot) && cell.ports.address(slot, WORD_READ).is_some()
}

/// Whether a slot sends words.
fn is_component(cell: &CellState, slot: u8) -> bool {
    reads(cell, slot) || cell.dpus.iter().any(|dpu| dpu.slot == slot)
}
