//! [`Written`]: a program that a person wrote, in assembly, in PASM or in words, and the fabric that it runs on.

use miette::Diagnostic;
use npukit_base::Coded;
use npukit_target::{
    Bench, BenchMemory, BenchOptions, Compiled, HandProgram, Limits, ProgramText, Ran, Remark, Session,
    Stopped, TargetError, Unset,
};

use super::program::DrraProgram;
use super::session::DrraSession;
use super::{fabric_of_the_seed, meant};
use crate::artifact::Artifact;
use crate::binary::Image;
use crate::check::findings;
use crate::fabric::Fabric;
use crate::fault::Fault;
use crate::machine::{DEFAULT_LIMIT, Machine, Memory, MemoryKind, Observer, UnwrittenRead};
use crate::op::Op;
use crate::program::{At, Program};

/// A program without tensors.
pub(super) struct Written {
    artifact: Artifact,
    text: ProgramText,
}

impl Written {
    pub fn new(
        name: String,
        (fabric_name, fabric): (&str, &Fabric),
        program: Program,
        text: ProgramText,
    ) -> Self {
        let (fabric_name, fabric) = (fabric_name.to_owned(), fabric.clone());
        let (image, inputs, outputs) = (Image::new(), Vec::new(), Vec::new());
        Self { artifact: Artifact { name, fabric_name, fabric, program, image, inputs, outputs }, text }
    }
}

impl Written {
    /// The same error below the first line of the text that the fabric computes otherwise, if there is a text.
    fn below_its_line(&self, error: TargetError) -> TargetError {
        let TargetError::Differs(findings) = &error else { return error };
        let placed = findings.iter().find_map(|finding| Some((finding, finding.place(&self.text)?)));
        let Some((finding, place)) = placed else { return error };
        let message = match findings.len() - 1 {
            0 => finding.message.clone(),
            more => format!("{} (and {more} more: `npu lint` lists them)", finding.message),
        };
        let help = Diagnostic::help(&error).map(|help| help.to_string());
        let fault = self.text.fault(place, Coded::code(&error), message);
        TargetError::text(fault.with_label("the fabric does something else").with_help(help))
    }
}

impl HandProgram for Written {
    fn text(&self) -> &ProgramText {
        &self.text
    }

    fn bench(&self, options: &BenchOptions) -> Result<Box<dyn Bench>, TargetError> {
        let Artifact { fabric, fabric_name, program, .. } = &self.artifact;
        let elsewhere = || fabric_of_the_seed(fabric_name);
        let findings = || findings(fabric, program, &elsewhere()).map_err(TargetError::failed);
        let mut fabric = fabric.clone();
        let revision = meant(fabric.options.revision, options.meaning, findings);
        fabric.options.revision = revision.map_err(|error| self.below_its_line(error))?;
        let mut machine = Machine::new(&fabric, program).map_err(TargetError::failed)?;
        match options.unset {
            Unset::Poison => machine.unset(Unset::Poison),
            Unset::Zero | Unset::Garbage(_) => machine.tell_unwritten(),
        }
        let memories = machine.memories();
        let Artifact { name, fabric_name, .. } = &self.artifact;
        let names = (name.clone(), format!("drra:{fabric_name}"));
        Ok(Box::new(OnBench { names, machine, memories, program: program.clone() }))
    }

    fn compiled(&self) -> Result<Box<dyn Compiled>, TargetError> {
        Ok(Box::new(DrraProgram::new(self.artifact.clone())))
    }
}

struct OnBench {
    /// The program's, and the target's.
    names: (String, String),
    machine: Machine,
    memories: Vec<Memory>,
    program: Program,
}

impl OnBench {
    /// Instructions of each cell, in the fabric's order.
    fn lengths(&self) -> Vec<usize> {
        self.machine.cells().iter().map(|cell| cell.sequencer.ops.len()).collect()
    }

    /// The number of an instruction, cell after cell.
    fn index(&self, at: At) -> usize {
        self.program.index(at)
    }

    fn remark(&self, UnwrittenRead { at, fault }: UnwrittenRead) -> Remark {
        Remark { instruction: at.map(|at| self.index(at)), message: format!("{fault}; it reads as 0") }
    }

    fn stopped(&self, fault: Fault) -> Stopped {
        let instruction = match &fault {
            Fault::Instruction { at, .. } => Some(self.index(*at)),
            _ => None,
        };
        Stopped { instruction, error: TargetError::failed(fault) }
    }
}

impl Bench for OnBench {
    fn memories(&self) -> Vec<BenchMemory> {
        self.memories.iter().map(memory).collect()
    }

    fn write(&mut self, memory: usize, address: u64, numbers: &[i64]) -> Result<(), TargetError> {
        let held = self.memories[memory];
        write(&mut self.machine, &held, address, numbers)
    }

    fn read(&self, memory: usize, address: u64, count: u64) -> Result<Vec<i64>, TargetError> {
        read(&self.machine, self.memories[memory].kind, address, count)
    }

    fn run(&mut self, limits: Limits) -> Result<Ran, Stopped> {
        let mut executed = Executed { instructions: 0, lengths: self.lengths() };
        let limit = limits.cycles.unwrap_or(DEFAULT_LIMIT);
        let run = self.machine.run(limit, &mut executed).map_err(|fault| self.stopped(fault))?;
        if let Some(limit) = limits.instructions.filter(|&limit| executed.instructions > limit) {
            let error = format!("{} instructions are more than the limit of {limit}", executed.instructions);
            return Err(Stopped { instruction: None, error: TargetError::failed(error) });
        }
        let mut remarks: Vec<Remark> =
            self.machine.told().into_iter().map(|read| self.remark(read)).collect();
        remarks.extend(run.warnings.iter().map(|warning| Remark {
            instruction: Some(self.index(warning.at)),
            message: format!("cycle {}: {}", warning.cycle, warning.kind),
        }));
        let more = format!("and {} other warnings", run.more_warnings);
        remarks.extend((run.more_warnings > 0).then_some(Remark { instruction: None, message: more }));
        let sums = format!("{} sums did not fit their accumulator", run.saturated_sums);
        remarks.extend((run.saturated_sums > 0).then_some(Remark { instruction: None, message: sums }));
        Ok(Ran { instructions: executed.instructions, cycles: Some(run.cycles), remarks })
    }

    fn session(self: Box<Self>) -> Result<Box<dyn Session>, TargetError> {
        let Self { names, machine, program, .. } = *self;
        Ok(Box::new(DrraSession::new(names, machine, &program, (&[], &[]))?))
    }
}

/// What there is to know of a memory.
pub(super) fn memory(memory: &Memory) -> BenchMemory {
    BenchMemory {
        name: memory.kind.to_string(),
        depth: memory.depth as u64,
        lanes: memory.lanes,
        bits: if is_flag(memory) { 1 } else { i16::BITS },
        is_signed: !is_flag(memory),
    }
}

/// Writes words to a memory from `address` on. Errors: a row beyond a buffer.
pub(super) fn write(
    machine: &mut Machine,
    &Memory { kind, lanes, .. }: &Memory,
    address: u64,
    numbers: &[i64],
) -> Result<(), TargetError> {
    let words: Vec<i16> = numbers.iter().map(|&number| number as i16).collect();
    for (address, words) in (address as usize..).zip(words.chunks(lanes)) {
        machine.poke(kind, address, words).map_err(TargetError::failed)?;
    }
    Ok(())
}

/// The words at `count` addresses of a memory from `address` on, which it has.
pub(super) fn read(
    machine: &Machine,
    kind: MemoryKind,
    address: u64,
    count: u64,
) -> Result<Vec<i64>, TargetError> {
    let mut all = Vec::new();
    for address in address..address + count {
        let words = machine.peek(kind, address as usize).map_err(TargetError::failed)?;
        all.extend(words.into_iter().map(i64::from));
    }
    Ok(all)
}

const fn is_flag(memory: &Memory) -> bool {
    matches!(memory.kind, MemoryKind::Flags { .. })
}

/// Counts instructions of the program: what is beyond it halts, and is none of its.
struct Executed {
    instructions: u64,
    /// Instructions of each cell.
    lengths: Vec<usize>,
}

impl Observer for Executed {
    fn issue(&mut self, _cycle: u64, cell: usize, pc: usize, _op: &Op) {
        self.instructions += u64::from(pc < self.lengths[cell]);
    }
}
