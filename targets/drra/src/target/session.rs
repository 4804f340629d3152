//! [`DrraSession`]: the fabric under a debugger, a cycle a step.
//!
//! Which cycles there are, and what each reads and writes, is known when the fabric has run once: a session begins with such
//! a run on a copy.

use std::sync::Arc;

use npukit_asm::ListingLine;
use npukit_target::{
    Accessed, AddressRun, BenchMemory, Moment, Placed, PlacedKind, Session, TargetError, instruction_lines,
};

use crate::artifact::Binding;
use crate::asm::{Listing, disassemble};
use crate::fabric::{Place, ROW_WORDS};
use crate::machine::{Access, DEFAULT_LIMIT, How, Machine, Memory, MemoryKind, Observer, Touch};
use crate::op::Op;
use crate::program::{At, Program};

/// Reads, writes and instructions of a run that are kept at most.
const MOST_EVENTS: usize = 1 << 21;

/// A memory of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// One that has a name in the text, too.
    Memory(Memory),
    /// `dpu.ROW.COL.SLOT`: output register, accumulator and internal register.
    Dpu { cell: usize, number: usize },
}

/// Numbers of a dpu.
const DPU_LANES: usize = 3;

/// A program that is debugged: what does not change.
struct Debugged {
    name: String,
    target: String,
    program: Program,
    parts: Vec<Part>,
    memories: Vec<BenchMemory>,
    placed: Vec<Placed>,
    recorded: Recorded,
}

/// What a run does in each cycle.
#[derive(Debug, Default)]
struct Recorded {
    accesses: Vec<Vec<Accessed>>,
    /// Instructions, by their numbers in the program.
    issued: Vec<Vec<usize>>,
}

/// Takes down what a run does.
struct Recorder<'a> {
    parts: &'a [Part],
    places: Vec<Place>,
    /// Instructions of each cell, in the fabric's order.
    lengths: Vec<usize>,
    program: &'a Program,
    recorded: Recorded,
    events: usize,
}

impl Recorder<'_> {
    /// The cycle's own list.
    fn at<T>(lists: &mut Vec<Vec<T>>, cycle: u64) -> &mut Vec<T> {
        let cycle = cycle as usize;
        if lists.len() <= cycle {
            lists.resize_with(cycle + 1, Vec::new);
        }
        &mut lists[cycle]
    }

    fn accessed(&mut self, cycle: u64, accessed: Accessed) {
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
}

impl Observer for Recorder<'_> {
    fn issue(&mut self, cycle: u64, cell: usize, pc: usize, _op: &Op) {
        // What is beyond a program halts, and is none of its instructions.
        if self.lengths.get(cell).is_some_and(|&length| pc < length) {
            self.events += 1;
            let number = self.program.index(At { place: self.places[cell], pc });
            Self::at(&mut self.recorded.issued, cycle).push(number);
        }
    }

    fn access(&mut self, Access { cycle, is_write, row, .. }: Access) {
        let kind = if is_write { MemoryKind::Output } else { MemoryKind::Input };
        if let Some(memory) = self.memory(kind) {
            self.accessed(cycle, Accessed { run: AddressRun::dense(memory, row as u64, 1), is_write });
        }
    }

    fn follows_words(&self) -> bool {
        true
    }

    fn touch(&mut self, Touch { cycle, cell, slot, word, words, how }: Touch) {
        let place = self.places[cell];
        let (first, count) = (word as u64, words as u64);
        let rows = ROW_WORDS as u64;
        let run = match self.memory(MemoryKind::Registers { place, slot }) {
            Some(memory) => Some(AddressRun::dense(memory, first, count)),
            None => self.memory(MemoryKind::Sram { place, slot }).map(|memory| {
                AddressRun::dense(memory, first / rows, (first + count).div_ceil(rows) - first / rows)
            }),
        };
        if let Some(run) = run {
            self.accessed(cycle, Accessed { run, is_write: how == How::Write });
        }
    }
}

/// A program on its fabric, between two cycles.
#[derive(Clone)]
pub(super) struct DrraSession {
    program: Arc<Debugged>,
    machine: Machine,
    position: usize,
}

impl DrraSession {
    /// `machine` before its first cycle, its memories filled.
    ///
    /// Errors: a run of more than is kept.
    pub fn new(
        (name, target): (String, String),
        mut machine: Machine,
        program: &Program,
        (inputs, outputs): (&[Binding], &[Binding]),
    ) -> Result<Self, TargetError> {
        machine.begin();
        let parts = parts(&machine);
        let recorded = record(&machine, &parts, program)?;
        let memories = parts.iter().map(|part| memory(part, &machine)).collect();
        let placed = |bindings: &[Binding], memory: usize, kind| {
            let one = |binding: &Binding| Placed {
                name: binding.name.clone(),
                kind,
                run: AddressRun::dense(memory, binding.row.into(), binding.rows.into()),
            };
            bindings.iter().map(one).collect::<Vec<_>>()
        };
        // The buffers are the first memories.
        let mut all = placed(inputs, 0, PlacedKind::Input);
        all.extend(placed(outputs, 1, PlacedKind::Output));
        let program =
            Debugged { name, target, program: program.clone(), parts, memories, placed: all, recorded };
        Ok(Self { program: Arc::new(program), machine, position: 0 })
    }
}

/// The memories of a fabric, and its dpus.
fn parts(machine: &Machine) -> Vec<Part> {
    let mut parts: Vec<Part> = machine.memories().into_iter().map(Part::Memory).collect();
    for (cell, state) in machine.cells().iter().enumerate() {
        parts.extend((0..state.dpus.len()).map(|number| Part::Dpu { cell, number }));
    }
    parts
}

fn memory(part: &Part, machine: &Machine) -> BenchMemory {
    match part {
        Part::Memory(memory) => super::hand::memory(memory),
        Part::Dpu { cell, number } => {
            let (place, slot) = (machine.fabric().place(*cell), machine.cells()[*cell].dpus[*number].slot);
            let name = format!("dpu.{}.{}.{slot}", place.row, place.col);
            BenchMemory { name, depth: 1, lanes: DPU_LANES, bits: i64::BITS, is_signed: true }
        }
    }
}

/// Runs a copy to its end, or to where it stops.
fn record(machine: &Machine, parts: &[Part], program: &Program) -> Result<Recorded, TargetError> {
    let mut copy = machine.clone();
    let places = copy.fabric().places().collect();
    let lengths = copy.cells().iter().map(|cell| cell.sequencer.ops.len()).collect();
    let recorded = Recorded::default();
    let mut recorder = Recorder { parts, places, lengths, program, recorded, events: 0 };
    let (mut computed, mut cycle) = (0, 0);
    while !copy.has_halted() && computed < DEFAULT_LIMIT {
        cycle = copy.next_cycle();
        if cycle >= DEFAULT_LIMIT || recorder.events > MOST_EVENTS {
            let told = format!("the program is too long to be debugged: in cycle {cycle} it still runs");
            return Err(TargetError::failed(told));
        }
        if copy.advance(&mut recorder).is_err() {
            // The session stops there, too, and says why.
            break;
        }
        computed += 1;
    }
    let mut recorded = recorder.recorded;
    Recorder::at(&mut recorded.accesses, cycle);
    Recorder::at(&mut recorded.issued, cycle);
    Ok(recorded)
}

impl Session for DrraSession {
    fn name(&self) -> &str {
        &self.program.name
    }

    fn target(&self) -> &str {
        &self.program.target
    }

    fn step_name(&self) -> &'static str {
        "cycle"
    }

    fn steps(&self) -> usize {
        self.program.recorded.issued.len()
    }

    fn position(&self) -> usize {
        self.position
    }

    fn step(&mut self) -> Result<Vec<String>, TargetError> {
        if self.position >= self.steps() {
            return Ok(Vec::new());
        }
        // In a cycle that the machine passes over nothing happens.
        if !self.machine.has_halted() && self.machine.next_cycle() == self.position as u64 {
            let before = self.machine.clone();
            if let Err(fault) = self.machine.advance(&mut ()) {
                self.machine = before;
                return Err(TargetError::failed(fault));
            }
        }
        self.position += 1;
        let told = self.machine.told().into_iter();
        Ok(told.map(|read| format!("{}; it reads as 0", read.fault)).collect())
    }

    fn fork(&self) -> Box<dyn Session> {
        Box::new(self.clone())
    }

    fn memories(&self) -> &[BenchMemory] {
        &self.program.memories
    }

    fn read(&self, memory: usize, address: u64, count: u64) -> Result<Vec<i64>, TargetError> {
        match self.program.parts[memory] {
            Part::Memory(memory) => super::hand::read(&self.machine, memory.kind, address, count),
            Part::Dpu { cell, number } => {
                let dpu = &self.machine.cells()[cell].dpus[number];
                let all = [dpu.out.into(), dpu.acc, dpu.ir.into()];
                Ok(if count == 0 { Vec::new() } else { all.to_vec() })
            }
        }
    }

    /// Words are integers.
    fn real(&self, _memory: usize, _number: i64) -> Option<f64> {
        None
    }

    fn accesses(&self, step: usize) -> Vec<Accessed> {
        // Default: beyond the end nothing is used.
        self.program.recorded.accesses.get(step).cloned().unwrap_or_default()
    }

    fn issued(&self, step: usize) -> Vec<usize> {
        // Default: beyond the end nothing begins.
        self.program.recorded.issued.get(step).cloned().unwrap_or_default()
    }

    fn steps_of(&self, instruction: usize) -> Vec<usize> {
        let begins = |(step, issued): (usize, &Vec<usize>)| issued.contains(&instruction).then_some(step);
        self.program.recorded.issued.iter().enumerate().filter_map(begins).collect()
    }

    fn listing(&self) -> Result<Vec<ListingLine>, TargetError> {
        let lines = disassemble(self.machine.fabric(), &self.program.program, Listing::Named).lines;
        Ok(instruction_lines(lines))
    }

    fn placed(&self) -> &[Placed] {
        &self.program.placed
    }

    fn saturations(&self) -> u64 {
        self.machine.cells().iter().flat_map(|cell| &cell.dpus).map(|dpu| dpu.saturated_sums).sum()
    }

    fn moments(&self) -> Result<Vec<Moment>, TargetError> {
        let moment = |step| Moment { start: step as u64, end: step as u64 + 1, waits: Vec::new() };
        Ok((0..self.steps()).map(moment).collect())
    }
}
