//! [`DrraMachine`]: a program on its fabric, with one cycle per step.
//!
//! The cycles, and the accesses of each, are known after the fabric has run once. The first query
//! runs it ([`Recorded`]).

mod memory;
mod model;
mod motion;
mod recorded;
mod run;
mod view;

use std::sync::{Arc, OnceLock};

use npukit_asm::ListingLine;
use npukit_target::{
    Accessed, AddressRun, Limits, MachineMemory, Moment, Operand, Outline, Placed, PlacedKind, RunOutcome,
    Scalar, Stopped, TargetError, View, instruction_lines, read_operands, run_steps,
};

use crate::isa::asm::{Listing, disassemble};
use crate::isa::program::Program;
use crate::machine::exec::real::RealWord;
use crate::machine::{Machine, Memory, MemoryKind};
use crate::program::artifact::Binding;
pub(super) use model::ModelMachine;
use recorded::{Begin, Flow, Recorded};

/// Memory of a fabric or of its driver.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// Memory that also has a name in the text.
    Memory(Memory),
    /// `dpu.ROW.COL.SLOT`: output register, accumulator and internal register.
    Dpu { cell: usize, number: usize },
    /// `value.N`: value of a model's plan, in the driver.
    Value { number: usize },
}

/// Numbers per dpu.
const DPU_LANES: usize = 3;

/// Immutable data of a stepped program.
struct Stepped {
    outline: Outline,
    program: Program,
    parts: Vec<Part>,
}

/// Behavior of a program from given sequencer registers, computed on demand.
#[derive(Default)]
struct Followed {
    /// Machine before its first cycle.
    begins: OnceLock<Machine>,
    recorded: OnceLock<Result<Recorded, String>>,
    /// Operands of words.
    flow: OnceLock<Option<Flow>>,
}

/// Program on its fabric, between two cycles.
#[derive(Clone)]
pub(super) struct DrraMachine {
    program: Arc<Stepped>,
    followed: Arc<Followed>,
    machine: Machine,
    position: usize,
}

impl DrraMachine {
    /// Creates a stepped program from `machine` before its first cycle.
    pub fn new(
        names: (String, String),
        mut machine: Machine,
        program: &Program,
        (inputs, outputs): (&[Binding], &[Binding]),
    ) -> Self {
        machine.begin();
        let parts = parts(&machine);
        let memories = parts.iter().map(|part| memory(part, &machine)).collect();
        let placed = |bindings: &[Binding], memory: usize, kind| {
            let one = |binding: &Binding| Placed {
                name: binding.name.clone(),
                kind,
                run: AddressRun::dense(memory, binding.row.into(), binding.rows.into()),
            };
            bindings.iter().map(one).collect::<Vec<_>>()
        };
        // The input and output buffers are the first two memories.
        let mut all = placed(inputs, 0, PlacedKind::Input);
        all.extend(placed(outputs, 1, PlacedKind::Output));
        let outline = Outline { step_name: "cycle", placed: all, ..Outline::new(names, memories) };
        let program = Arc::new(Stepped { outline, program: program.clone(), parts });
        Self { program, followed: Arc::default(), machine, position: 0 }
    }

    /// Returns the start: the machine before its first cycle, with its current contents.
    fn begin(&self) -> Begin<'_> {
        let Stepped { program, parts, .. } = &*self.program;
        let begins = self.followed.begins.get_or_init(|| self.machine.clone());
        Begin { fabric: begins.fabric(), program, registers: Some(begins), parts }
    }

    /// Returns the recorded run.
    ///
    /// Errors: the run is too long to be recorded.
    pub fn recorded(&self) -> Result<&Recorded, TargetError> {
        let recorded =
            self.followed.recorded.get_or_init(|| self.begin().recorded().map_err(|error| error.to_string()));
        recorded.as_ref().map_err(|message| TargetError::failed(message.clone()))
    }
}

impl Part {
    /// Whether it consists of sequencer registers.
    fn is_register(&self) -> bool {
        let Self::Memory(memory) = self else { return false };
        matches!(memory.kind, MemoryKind::Scalars { .. } | MemoryKind::Flags { .. })
    }

    /// Returns the numbers at `count` existing addresses starting at `address`.
    fn read(&self, machine: &Machine, address: u64, count: u64) -> Result<Vec<i64>, TargetError> {
        match *self {
            Self::Memory(memory) => memory::read(machine, memory.kind, address, count),
            Self::Dpu { cell, number } => {
                let dpu = &machine.cells()[cell].dpus[number];
                let all = [dpu.out.into(), dpu.acc, dpu.ir.into()];
                Ok(if count == 0 { Vec::new() } else { all.to_vec() })
            }
            Self::Value { .. } => Err(TargetError::failed("values belong to the driver".to_owned())),
        }
    }

    /// Returns the float values of the numbers; `None` for registers and the driver's values.
    fn floats(&self, machine: &Machine<RealWord>, address: u64, count: u64) -> Option<Vec<f64>> {
        let addresses = address as usize..(address + count) as usize;
        match *self {
            Self::Memory(memory) => {
                let words = addresses.map(|address| machine.words_at(memory.kind, address));
                let words: Option<Vec<Vec<RealWord>>> = words.collect();
                Some(words?.into_iter().flatten().map(|word| word.value).collect())
            }
            Self::Dpu { cell, number } => {
                let dpu = machine.cells().get(cell)?.dpus.get(number).filter(|_| count > 0)?;
                Some(vec![dpu.out.value, dpu.acc, dpu.ir.value])
            }
            Self::Value { .. } => None,
        }
    }

    /// Writes numbers starting at `address`. Errors: a row outside a buffer; registers, which
    /// determine addresses.
    fn write(&self, machine: &mut Machine, address: u64, numbers: &[i64]) -> Result<(), TargetError> {
        match *self {
            Self::Memory(memory) => memory::write(machine, &memory, address, numbers),
            Self::Dpu { cell, number } => {
                if let (Some(dpu), &[out, acc, ir]) = (machine.dpu_mut(cell, number), numbers) {
                    (dpu.out, dpu.acc, dpu.ir) = (out as i16, acc, ir as i16);
                }
                Ok(())
            }
            Self::Value { .. } => Err(TargetError::failed("values belong to the driver".to_owned())),
        }
    }
}

/// Returns the memories and dpus of a fabric.
fn parts(machine: &Machine) -> Vec<Part> {
    let mut parts: Vec<Part> = machine.memories().into_iter().map(Part::Memory).collect();
    for (cell, state) in machine.cells().iter().enumerate() {
        parts.extend((0..state.dpus.len()).map(|number| Part::Dpu { cell, number }));
    }
    parts
}

fn memory(part: &Part, machine: &Machine) -> MachineMemory {
    match part {
        Part::Memory(memory) => memory::memory(memory),
        Part::Dpu { cell, number } => {
            let (place, slot) = (machine.fabric().place(*cell), machine.cells()[*cell].dpus[*number].slot);
            let name = format!("dpu.{}.{}.{slot}", place.row, place.col);
            MachineMemory { name, depth: 1, lanes: DPU_LANES, bits: i64::BITS, is_signed: true }
        }
        Part::Value { number } => {
            let name = format!("value.{number}");
            MachineMemory { name, depth: 0, lanes: 1, bits: i16::BITS, is_signed: true }
        }
    }
}

impl npukit_target::Machine for DrraMachine {
    fn outline(&self) -> &Outline {
        &self.program.outline
    }

    /// A run that is too long to be recorded has a single step, which reports that.
    fn steps(&self) -> usize {
        self.recorded().map_or(1, |recorded| recorded.issued.len())
    }

    fn position(&self) -> usize {
        self.position
    }

    fn step(&mut self) -> Result<Vec<String>, TargetError> {
        if self.position >= self.steps() {
            return Ok(Vec::new());
        }
        self.recorded()?;
        // In a cycle that the machine skips, nothing happens.
        if !self.machine.has_halted() && self.machine.next_cycle() == self.position as u64 {
            let before = self.machine.clone();
            if let Err(fault) = self.machine.advance(&mut ()) {
                self.machine = before;
                return Err(TargetError::failed(fault));
            }
        }
        self.position += 1;
        let message = self.machine.unwritten_reads().into_iter();
        Ok(message.map(|read| format!("{}; it reads as 0", read.fault)).collect())
    }

    fn run(&mut self, limits: Limits) -> Result<RunOutcome, Stopped> {
        if self.position == 0 {
            return self.run_whole(limits);
        }
        match limits.cycles {
            None => Ok(run_steps(self, limits, |_, _| Ok(()))?.0),
            Some(_) => Err(Stopped::uncounted("the run has already started")),
        }
    }

    fn fork(&self) -> Box<dyn npukit_target::Machine> {
        Box::new(self.clone())
    }

    fn views(&self) -> Vec<View> {
        let shown = |(place, part)| self.view(place, part);
        View::grouped(self.program.parts.iter().enumerate().map(shown))
    }

    fn read(&self, memory: usize, address: u64, count: u64) -> Result<Vec<i64>, TargetError> {
        self.program.parts[memory].read(&self.machine, address, count)
    }

    fn write(&mut self, memory: usize, address: u64, numbers: &[i64]) -> Result<(), TargetError> {
        let part = self.program.parts[memory];
        let is_known = self.followed.begins.get().is_some();
        match part {
            // Registers determine addresses, so a write makes the recorded steps invalid.
            _ if part.is_register() && is_known => return Err(by_instructions("registers of a sequencer")),
            _ if part.is_register() => self.followed = Arc::default(),
            Part::Dpu { .. } if !is_known => return Err(by_instructions("numbers of a dpu")),
            _ => {}
        }
        part.write(&mut self.machine, address, numbers)
    }

    fn accesses(&self, step: usize) -> Vec<Accessed> {
        // Default: nothing is accessed after the end.
        self.recorded().ok().and_then(|recorded| recorded.accesses.get(step).cloned()).unwrap_or_default()
    }

    fn operands(&self, step: usize, scalar: Scalar) -> Vec<Operand> {
        if self.program.parts.get(scalar.memory).is_none_or(Part::is_register) {
            // Registers have no operands because they do not depend on data words.
            return Vec::new();
        }
        let flow = self.followed.flow.get_or_init(|| self.begin().flow());
        let found = flow.as_ref().and_then(|flow| flow.operands(step, scalar));
        // Default: if operands are not recorded, all words that the cycle reads.
        found.unwrap_or_else(|| read_operands(self.accesses(step)))
    }

    fn issued(&self, step: usize) -> Vec<usize> {
        // Default: no instruction starts after the end.
        self.recorded().ok().and_then(|recorded| recorded.issued.get(step).cloned()).unwrap_or_default()
    }

    fn steps_of(&self, instruction: usize) -> Vec<usize> {
        let begins = |(step, issued): (usize, &Vec<usize>)| issued.contains(&instruction).then_some(step);
        self.recorded().map_or_else(
            |_| Vec::new(),
            |recorded| recorded.issued.iter().enumerate().filter_map(begins).collect(),
        )
    }

    fn motion(&self) -> Result<Option<npukit_target::motion::Motion>, TargetError> {
        self.words_in_motion()
    }

    fn listing(&self) -> Result<Vec<ListingLine>, TargetError> {
        let lines = disassemble(self.machine.fabric(), &self.program.program, Listing::Named).lines;
        Ok(instruction_lines(lines))
    }

    fn saturations(&self) -> u64 {
        self.machine.cells().iter().flat_map(|cell| &cell.dpus).map(|dpu| dpu.saturated_sums).sum()
    }

    fn moments(&self) -> Result<Vec<Moment>, TargetError> {
        let moment = |step| Moment { start: step as u64, end: step as u64 + 1, waits: Vec::new() };
        Ok((0..self.steps()).map(moment).collect())
    }
}

/// Error for a write to a memory that only instructions may write.
fn by_instructions(what: &str) -> TargetError {
    TargetError::failed(format!("{what} can only be written by instructions"))
}
