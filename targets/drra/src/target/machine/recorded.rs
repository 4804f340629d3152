//! [`Recorded`]: what a program does in each cycle, and [`Flow`]: what each word that it writes was made of.
//!
//! No route, address or cycle depends on a word of data, so that a run of [`Traced`] words, which know what they were made of,
//! does the same. When a memory is written, the word there becomes one of its own: words are made of what memories held, up to
//! the cycle in which a dpu or a row took it.

use std::collections::{HashMap, HashSet};

use npukit_target::{Accessed, AddressRun, Operand, Scalar, TargetError};

use super::{DPU_LANES, Part};
use crate::config::fabric::{Fabric, Place, ROW_WORDS};
use crate::isa::op::Op;
use crate::isa::program::{At, Program};
use crate::machine::exec::traced::{Operation, Record, Traced};
use crate::machine::exec::word::Word as _;
use crate::machine::{Access, DEFAULT_LIMIT, How, Machine, MemoryKind, Observer, Touch};

/// Reads, writes and instructions of a run that are kept at most.
const MOST_EVENTS: usize = 1 << 21;
/// Words that are made in a run whose flow is kept, at most.
const MOST_WORDS: usize = 1 << 23;
/// Operands of a word that are told, at most.
const MOST_OPERANDS: usize = 1 << 12;
/// Words that are made before they are forgotten, where nobody asks what of.
const FORGOTTEN: usize = 1 << 20;

/// What a run does in each cycle.
#[derive(Debug, Default)]
pub struct Recorded {
    pub accesses: Vec<Vec<Accessed>>,
    /// Instructions, by their numbers in the program.
    pub issued: Vec<Vec<usize>>,
}

/// A word that a memory holds from a cycle on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Held {
    memory: usize,
    address: u64,
    lane: usize,
    /// The first cycle in which it is there.
    since: usize,
}

/// What the words that a run writes are made of.
#[derive(Debug, Default)]
pub struct Flow {
    /// By place of a word in the record, what it is made of: places, or none.
    of: Vec<[Option<u32>; 3]>,
    /// By place, what memories held.
    held: HashMap<u32, Held>,
    /// By what is held, the place of the word in it.
    written: HashMap<Held, u32>,
}

impl Flow {
    /// What a word was made of that is written in a cycle: what memories held when it was taken. None where that is not known.
    pub fn operands(&self, cycle: usize, scalar: Scalar) -> Option<Vec<Operand>> {
        let Scalar { memory, address, lane } = scalar;
        let &place = self.written.get(&Held { memory, address, lane, since: cycle + 1 })?;
        let (mut seen, mut next, mut found) = (HashSet::new(), vec![place], Vec::new());
        while let Some(place) = next.pop() {
            if !seen.insert(place) {
                continue;
            }
            match self.held.get(&place) {
                Some(held) => found.push(*held),
                // Default: words of before the run are made of nothing.
                None => next.extend(self.of.get(place as usize).into_iter().flatten().flatten()),
            }
            if found.len() > MOST_OPERANDS {
                return None;
            }
        }
        found.sort_unstable_by_key(|held| (held.memory, held.since, held.address, held.lane));
        let operand = |held: Held| Operand {
            since: Some(held.since),
            ..Operand::new("from", AddressRun::dense(held.memory, held.address, 1), Some(held.lane))
        };
        Some(found.into_iter().map(operand).collect())
    }
}

/// Numbers of the inputs ([`Traced::input`]) that a word was made of since the record began, each once.
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

/// Where a program begins: its fabric and the registers of its sequencers.
pub struct Begin<'a> {
    pub fabric: &'a Fabric,
    pub program: &'a Program,
    /// A machine with the registers; none where they are as after a reset.
    pub registers: Option<&'a Machine>,
    pub parts: &'a [Part],
}

impl Begin<'_> {
    /// What the program does in each cycle, up to its end or where it stops.
    ///
    /// # Errors
    ///
    /// More than is kept.
    pub fn recorded(&self) -> Result<Recorded, TargetError> {
        Ok(Run::new(self, false)?.finished()?.0)
    }

    /// What the words are made of that the program writes; none where they are more than are kept.
    pub fn flow(&self) -> Option<Flow> {
        Run::new(self, true).and_then(Run::finished).ok().map(|(_, flow)| flow)
    }
}

/// A run of traced words.
struct Run<'a> {
    machine: Machine<Traced>,
    recorder: Recorder<'a>,
    /// Numbers of the dpus before a cycle.
    dpus: Vec<[Traced; DPU_LANES]>,
    /// Registers of the sequencers before a cycle.
    registers: Vec<([i16; 16], u16)>,
    /// None where nobody asks what words are made of.
    flow: Option<Flow>,
}

/// Takes down what a cycle does.
struct Recorder<'a> {
    parts: &'a [Part],
    places: Vec<Place>,
    /// Instructions of each cell, in the fabric's order.
    lengths: Vec<usize>,
    program: &'a Program,
    recorded: Recorded,
    events: usize,
    /// Words of cells that the cycle has written: cell, slot, first and number.
    touched: Vec<(usize, u8, usize, usize)>,
    /// Rows of the output buffer that it has written.
    rows: Vec<usize>,
}

impl Recorder<'_> {
    /// The cycle's own list.
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

    /// The memory of a cell's slot, and whether its addresses are rows.
    fn of_slot(&self, cell: usize, slot: u8) -> Option<(usize, bool)> {
        let place = self.places[cell];
        let file = self.memory(MemoryKind::Registers { place, slot }).map(|memory| (memory, false));
        file.or_else(|| Some((self.memory(MemoryKind::Sram { place, slot })?, true)))
    }
}

impl Observer for Recorder<'_> {
    fn issue(&mut self, cycle: u64, cell: usize, pc: usize, _op: &Op) {
        // What is beyond a program halts, and is none of its instructions.
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

    /// Every word of every memory is one of its own.
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
            let is_too_much = self.recorder.events > MOST_EVENTS || self.flow.is_some() && made > MOST_WORDS;
            if cycle >= DEFAULT_LIMIT || is_too_much {
                let told = format!("the program is too long to be stepped: in cycle {cycle} it still runs");
                return Err(TargetError::failed(told));
            }
            if self.flow.is_none() && made > FORGOTTEN {
                Record::restart();
            }
            self.remember();
            if self.machine.advance(&mut self.recorder).is_err() {
                // The machine stops there, too, and says why.
                break;
            }
            self.note(cycle as usize);
            computed += 1;
        }
        let mut recorded = self.recorder.recorded;
        Recorder::at(&mut recorded.accesses, cycle as usize);
        Recorder::at(&mut recorded.issued, cycle as usize);
        let mut flow = self.flow.unwrap_or_default(); // Default: nobody asks.
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

    /// Notes what a cycle has written.
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

    /// Registers whose numbers change: they depend on no word of data.
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

fn held([memory, address, lane, since]: [usize; 4]) -> Held {
    Held { memory, address: address as u64, lane, since }
}

fn place_of(word: Traced) -> Option<u32> {
    Record::with(|record| record.place(word)).map(|place| place as u32)
}

/// A word of its own, which a memory holds.
fn own_word(flow: &mut Option<Flow>, place: [usize; 4]) -> Traced {
    let word = Traced::garbage(0);
    if let Some((flow, number)) = flow.as_mut().zip(place_of(word)) {
        flow.held.insert(number, held(place));
    }
    word
}

/// A word is written.
fn write(flow: &mut Option<Flow>, place: [usize; 4], word: Traced) {
    if let Some((flow, number)) = flow.as_mut().zip(place_of(word)) {
        flow.written.insert(held(place), number);
    }
}
