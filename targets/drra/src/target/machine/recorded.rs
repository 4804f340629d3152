//! [`Recorded`]: activity of a program in each cycle. [`Flow`]: operands of each word that it
//! writes.
//!
//! No route, address or cycle depends on a data word, so a run of [`Traced`] words, which record
//! their operands, behaves the same. When a memory is written, the word there gets a new identity:
//! operands are contents of memories, up to the cycle in which a dpu or a row took them.

use std::collections::{HashMap, HashSet};

use npukit_target::{Accessed, AddressRun, Operand, Scalar, TargetError};

use super::{DPU_LANES, Part};
use crate::config::fabric::{Fabric, Place, ROW_WORDS};
use crate::isa::op::Op;
use crate::isa::program::{At, Program};
use crate::machine::exec::traced::{Operation, Record, Traced};
use crate::machine::exec::word::Word as _;
use crate::machine::{Access, DEFAULT_LIMIT, How, Machine, MemoryKind, Observer, Touch};

/// Maximum number of recorded accesses and instructions of a run.
const MAX_EVENTS: usize = 1 << 21;
/// Maximum number of computed words of a run for which the flow is recorded.
const MAX_WORDS: usize = 1 << 23;
/// Maximum number of reported operands of a word.
const MAX_OPERANDS: usize = 1 << 12;
/// Number of computed words after which the record is cleared, if operands are not needed.
const FORGOTTEN: usize = 1 << 20;

/// Activity of a run in each cycle.
#[derive(Debug, Default)]
pub struct Recorded {
    pub accesses: Vec<Vec<Accessed>>,
    /// Instructions by cycle, as indices in the program.
    pub issued: Vec<Vec<usize>>,
}

/// Word that a memory holds starting at a cycle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct StoredWord {
    memory: usize,
    address: u64,
    lane: usize,
    /// First cycle in which the memory holds the word.
    since: usize,
}

/// Operands of the words that a run writes.
#[derive(Debug, Default)]
pub struct Flow {
    /// Record indices of the operands of each word, by record index.
    of: Vec<[Option<u32>; 3]>,
    /// Memory contents, by record index.
    held: HashMap<u32, StoredWord>,
    /// Record index of the word that was written, by memory content.
    written: HashMap<StoredWord, u32>,
}

impl Flow {
    /// Returns the operands of a word written in a cycle: memory contents when they were taken.
    /// `None` if they are unknown.
    pub fn operands(&self, cycle: usize, scalar: Scalar) -> Option<Vec<Operand>> {
        let Scalar { memory, address, lane } = scalar;
        let &place = self.written.get(&StoredWord { memory, address, lane, since: cycle + 1 })?;
        let (mut seen, mut next, mut found) = (HashSet::new(), vec![place], Vec::new());
        while let Some(place) = next.pop() {
            if !seen.insert(place) {
                continue;
            }
            match self.held.get(&place) {
                Some(held) => found.push(*held),
                // Default: words from before the run have no operands.
                None => next.extend(self.of.get(place as usize).into_iter().flatten().flatten()),
            }
            if found.len() > MAX_OPERANDS {
                return None;
            }
        }
        found.sort_unstable_by_key(|held| (held.memory, held.since, held.address, held.lane));
        let operand = |held: StoredWord| Operand {
            since: Some(held.since),
            ..Operand::new("from", AddressRun::dense(held.memory, held.address, 1), Some(held.lane))
        };
        Some(found.into_iter().map(operand).collect())
    }
}

/// Returns the indices of the inputs ([`Traced::input`]) that a word depends on since the record
/// began, each once.
pub fn leaves(word: Traced) -> Vec<u32> {
    let (mut seen, mut next, mut found) = (HashSet::new(), vec![word], Vec::new());
    Record::with(|record| {
        while let Some(word) = next.pop() {
            let Some(place) = record.place(word).filter(|place| seen.insert(*place)) else { continue };
            let made = record.all()[place];
            match made.operation {
                Operation::Input(number) => found.push(number),
                _ => next.extend(made.of),
            }
        }
    });
    found.sort_unstable();
    found
}

/// Start of a program: its fabric and the registers of its sequencers.
pub struct Begin<'a> {
    pub fabric: &'a Fabric,
    pub program: &'a Program,
    /// Machine with the registers; `None` if they are in their reset state.
    pub registers: Option<&'a Machine>,
    pub parts: &'a [Part],
}

impl Begin<'_> {
    /// Returns the activity in each cycle, up to the program's end or its fault.
    ///
    /// # Errors
    ///
    /// The run exceeds the recording limits.
    pub fn recorded(&self) -> Result<Recorded, TargetError> {
        Ok(Run::new(self, false)?.finished()?.0)
    }

    /// Returns the operands of the words that the program writes; `None` if they exceed the
    /// recording limits.
    pub fn flow(&self) -> Option<Flow> {
        Run::new(self, true).and_then(Run::finished).ok().map(|(_, flow)| flow)
    }
}

/// Run with traced words.
struct Run<'a> {
    machine: Machine<Traced>,
    recorder: Recorder<'a>,
    /// Numbers of the dpus before a cycle.
    dpus: Vec<[Traced; DPU_LANES]>,
    /// Registers of the sequencers before a cycle.
    registers: Vec<([i16; 16], u16)>,
    /// Operands of words, if they are recorded.
    flow: Option<Flow>,
}

/// Recorder of a cycle's activity.
struct Recorder<'a> {
    parts: &'a [Part],
    places: Vec<Place>,
    /// Number of instructions of each cell, in fabric order.
    lengths: Vec<usize>,
    program: &'a Program,
    recorded: Recorded,
    events: usize,
    /// Words of cells written in the cycle: cell, slot, first word, number of words.
    touched: Vec<(usize, u8, usize, usize)>,
    /// Rows of the output buffer written in the cycle.
    rows: Vec<usize>,
}

impl Recorder<'_> {
    /// Returns the list of a cycle.
    fn at<T>(lists: &mut Vec<Vec<T>>, cycle: usize) -> &mut Vec<T> {
        if lists.len() <= cycle {
            lists.resize_with(cycle + 1, Vec::new);
        }
        &mut lists[cycle]
    }

    fn accessed(&mut self, cycle: usize, accessed: Accessed) {
        self.events += 1;
        let all = Self::at(&mut self.recorded.accesses, cycle);
        if !all.contains(&accessed) {
            all.push(accessed);
        }
    }

    fn memory(&self, kind: MemoryKind) -> Option<usize> {
        let is_it = |part: &Part| matches!(part, Part::Memory(memory) if memory.kind == kind);
        self.parts.iter().position(is_it)
    }

    /// Returns the memory at a cell's slot, and whether its addresses are rows.
    fn of_slot(&self, cell: usize, slot: u8) -> Option<(usize, bool)> {
        let place = self.places[cell];
        let file = self.memory(MemoryKind::Registers { place, slot }).map(|memory| (memory, false));
        file.or_else(|| Some((self.memory(MemoryKind::Sram { place, slot })?, true)))
    }
}

impl Observer for Recorder<'_> {
    fn issue(&mut self, cycle: u64, cell: usize, pc: usize, _op: &Op) {
        // Memory after a program reads as `halt`, which is not an instruction of the program.
        if self.lengths.get(cell).is_some_and(|&length| pc < length) {
            self.events += 1;
            let number = self.program.index(At { place: self.places[cell], pc });
            Self::at(&mut self.recorded.issued, cycle as usize).push(number);
        }
    }

    fn access(&mut self, Access { cycle, is_write, row, .. }: Access) {
        let kind = if is_write { MemoryKind::Output } else { MemoryKind::Input };
        self.rows.extend(is_write.then_some(row));
        if let Some(memory) = self.memory(kind) {
            self.accessed(
                cycle as usize,
                Accessed { run: AddressRun::dense(memory, row as u64, 1), is_write },
            );
        }
    }

    fn follows_words(&self) -> bool {
        true
    }

    fn touch(&mut self, Touch { cycle, cell, slot, word, words, how }: Touch) {
        let is_write = how == How::Write;
        self.touched.extend(is_write.then_some((cell, slot, word, words)));
        let (first, count, rows) = (word as u64, words as u64, ROW_WORDS as u64);
        let run = self.of_slot(cell, slot).map(|(memory, is_rows)| match is_rows {
            false => AddressRun::dense(memory, first, count),
            true => AddressRun::dense(memory, first / rows, (first + count).div_ceil(rows) - first / rows),
        });
        if let Some(run) = run {
            self.accessed(cycle as usize, Accessed { run, is_write });
        }
    }
}

impl<'a> Run<'a> {
    fn new(begin: &Begin<'a>, keeps_flow: bool) -> Result<Self, TargetError> {
        Record::restart();
        let mut machine = Machine::of_words(begin.fabric, begin.program).map_err(TargetError::failed)?;
        if let Some(registers) = begin.registers {
            machine.take_registers(registers);
        }
        let recorder = Recorder {
            parts: begin.parts,
            places: machine.fabric().places().collect(),
            lengths: machine.cells().iter().map(|cell| cell.sequencer.ops.len()).collect(),
            program: begin.program,
            recorded: Recorded::default(),
            events: 0,
            touched: Vec::new(),
            rows: Vec::new(),
        };
        let flow = keeps_flow.then(Flow::default);
        let mut run = Self { machine, recorder, dpus: Vec::new(), registers: Vec::new(), flow };
        run.fill()?;
        run.machine.begin();
        Ok(run)
    }

    /// Gives every word of every memory its own identity.
    fn fill(&mut self) -> Result<(), TargetError> {
        for (memory, part) in self.recorder.parts.iter().enumerate() {
            let Part::Memory(held) = part else { continue };
            for address in 0..held.depth {
                let mut words = [Traced::default(); ROW_WORDS];
                let own = words.iter_mut().enumerate().take(held.lanes);
                own.for_each(|(lane, word)| *word = own_word(&mut self.flow, [memory, address, lane, 0]));
                match held.kind {
                    MemoryKind::Input => {
                        self.machine.input.write(address, words).map_err(TargetError::failed)?
                    }
                    MemoryKind::Registers { place, slot } => self.put(place, slot, address, words[0]),
                    MemoryKind::Sram { place, slot } => {
                        (0..ROW_WORDS)
                            .for_each(|lane| self.put(place, slot, address * ROW_WORDS + lane, words[lane]));
                    }
                    MemoryKind::Output | MemoryKind::Scalars { .. } | MemoryKind::Flags { .. } => {}
                }
            }
        }
        Ok(())
    }

    fn put(&mut self, place: Place, slot: u8, word: usize, value: Traced) {
        let cell = self.recorder.places.iter().position(|other| *other == place);
        let found = cell.and_then(|cell| self.machine.word_mut(cell, slot, word));
        found.into_iter().for_each(|held| *held = value);
    }

    fn finished(mut self) -> Result<(Recorded, Flow), TargetError> {
        let (mut computed, mut cycle) = (0, 0);
        while !self.machine.has_halted() && computed < DEFAULT_LIMIT {
            cycle = self.machine.next_cycle();
            let made = Record::with(|record| record.all().len());
            let is_too_much = self.recorder.events > MAX_EVENTS || self.flow.is_some() && made > MAX_WORDS;
            if cycle >= DEFAULT_LIMIT || is_too_much {
                let message =
                    format!("the program is too long for the debugger: it still runs in cycle {cycle}");
                return Err(TargetError::failed(message));
            }
            if self.flow.is_none() && made > FORGOTTEN {
                Record::restart();
            }
            self.remember();
            if self.machine.advance(&mut self.recorder).is_err() {
                // The machine stops at this point too, and reports the reason.
                break;
            }
            self.note(cycle as usize);
            computed += 1;
        }
        let mut recorded = self.recorder.recorded;
        Recorder::at(&mut recorded.accesses, cycle as usize);
        Recorder::at(&mut recorded.issued, cycle as usize);
        let mut flow = self.flow.unwrap_or_default(); // Default: operands are not recorded.
        flow.of = Record::with(|record| {
            let place = |word: Traced| record.place(word).map(|place| place as u32);
            record.all().iter().map(|made| made.of.map(place)).collect()
        });
        Record::restart();
        Ok((recorded, flow))
    }

    fn remember(&mut self) {
        self.recorder.touched.clear();
        self.recorder.rows.clear();
        let dpus = self.machine.cells().iter().flat_map(|cell| &cell.dpus);
        self.dpus = dpus.map(|dpu| [dpu.out, dpu.acc, dpu.ir]).collect();
        let registers = self.machine.cells().iter().map(|cell| (cell.sequencer.regs, cell.sequencer.flags));
        self.registers = registers.collect();
    }

    /// Records the writes of a cycle.
    fn note(&mut self, cycle: usize) {
        for (cell, slot, first, count) in std::mem::take(&mut self.recorder.touched) {
            let Some((memory, is_rows)) = self.recorder.of_slot(cell, slot) else { continue };
            for word in first..first + count {
                let (address, lane) = if is_rows { (word / ROW_WORDS, word % ROW_WORDS) } else { (word, 0) };
                let Some(held) = self.machine.word_mut(cell, slot, word) else { continue };
                write(&mut self.flow, [memory, address, lane, cycle + 1], *held);
                *held = own_word(&mut self.flow, [memory, address, lane, cycle + 1]);
            }
        }
        if let Some(memory) = self.recorder.memory(MemoryKind::Output) {
            for row in std::mem::take(&mut self.recorder.rows) {
                let words = self.machine.output.read(row).into_iter().flatten().enumerate();
                words.for_each(|(lane, word)| write(&mut self.flow, [memory, row, lane, cycle + 1], word));
            }
        }
        self.note_dpus(cycle);
        self.note_registers(cycle);
    }

    fn note_dpus(&mut self, cycle: usize) {
        let parts = self.recorder.parts.iter().enumerate();
        let parts = parts.filter(|(_, part)| matches!(part, Part::Dpu { .. }));
        let dpus = self.machine.cells().iter().flat_map(|cell| &cell.dpus);
        for (((memory, _), dpu), before) in parts.zip(dpus).zip(&self.dpus) {
            let now = [dpu.out, dpu.acc, dpu.ir];
            if now != *before {
                self.recorder.accessed(cycle, Accessed::write(AddressRun::dense(memory, 0, 1)));
                for (lane, &word) in now.iter().enumerate().filter(|(lane, word)| **word != before[*lane]) {
                    write(&mut self.flow, [memory, 0, lane, cycle + 1], word);
                }
            }
        }
    }

    /// Records changed registers, which do not depend on data words.
    fn note_registers(&mut self, cycle: usize) {
        for cell in 0..self.registers.len() {
            let (place, (regs, flags)) = (self.recorder.places[cell], self.registers[cell]);
            let sequencer = &self.machine.cells()[cell].sequencer;
            let changed = sequencer.flags ^ flags;
            let scalars: Vec<usize> = (0..regs.len()).filter(|&at| sequencer.regs[at] != regs[at]).collect();
            let flags: Vec<usize> = (0..16).filter(|bit| changed >> bit & 1 == 1).collect();
            for (kind, places) in
                [(MemoryKind::Scalars { place }, scalars), (MemoryKind::Flags { place }, flags)]
            {
                let Some(memory) = self.recorder.memory(kind) else { continue };
                for address in places {
                    self.recorder
                        .accessed(cycle, Accessed::write(AddressRun::dense(memory, address as u64, 1)));
                }
            }
        }
    }
}

fn held([memory, address, lane, since]: [usize; 4]) -> StoredWord {
    StoredWord { memory, address: address as u64, lane, since }
}

fn place_of(word: Traced) -> Option<u32> {
    Record::with(|record| record.place(word)).map(|place| place as u32)
}

/// Creates a word with its own identity, which a memory holds.
fn own_word(flow: &mut Option<Flow>, place: [usize; 4]) -> Traced {
    let word = Traced::garbage(0);
    if let Some((flow, number)) = flow.as_mut().zip(place_of(word)) {
        flow.held.insert(number, held(place));
    }
    word
}

/// Records that a word is written.
fn write(flow: &mut Option<Flow>, place: [usize; 4], word: Traced) {
    if let Some((flow, number)) = flow.as_mut().zip(place_of(word)) {
        flow.written.insert(held(place), number);
    }
}
