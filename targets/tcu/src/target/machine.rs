//! [`TcuMachine`]: a program on its machine, with one instruction per step.

mod accesses;
mod motion;

use std::sync::Arc;

use npukit_asm::ListingLine;
use npukit_numeric::NumberFormat;
use npukit_target::motion::Motion;
use npukit_target::{
    Accessed, CosimJudge, CosimOptions, Floats, Halt, Limits, Moment, Operand, Outline, RunOutcome,
    Saturated, Scalar, Shown, Stopped, TargetError, View, execute, instruction_lines, number_of, real_of,
    run_steps, step_float,
};

use super::program::TcuProgram;
use crate::circuit::cosim::{ExpectedRun, Start};
use crate::clock::timing::estimate;
use crate::clock::{Clock, Happening, Meter, Waiting};
use crate::config::{ClockParams, Config};
use crate::isa::codec::encode_program;
use crate::isa::fault::FaultKind;
use crate::isa::isa;
use crate::isa::op::{Memory, Op};
use crate::machine::losing::{Losing, LostWrite};
use crate::machine::{Machine, Part};

/// The immutable part of a stepped program.
pub(super) struct Stepped {
    pub outline: Outline,
    config: Config,
    ops: Vec<Op>,
    parts: Vec<Part>,
    /// Memory of the board, for its clock.
    memory: ClockParams,
}

impl Stepped {
    /// Creates a program without layers and tensors; `names` has its name and its target.
    pub fn new(names: (String, String), config: &Config, ops: Vec<Op>, memory: ClockParams) -> Self {
        let parts = Part::all(config);
        let memories = parts.iter().map(|part| part.memory(config)).collect();
        Self { outline: Outline::new(names, memories), config: config.clone(), ops, parts, memory }
    }

    /// Returns the index of a part among the memories.
    fn place(&self, part: Part) -> Option<usize> {
        self.parts.iter().position(|&other| other == part)
    }
}

/// Returns the index of a memory among the parts: [`Part::all`] begins with memories.
pub(super) const fn place_of(memory: Memory) -> usize {
    match memory {
        Memory::Dram0 => 0,
        Memory::Dram1 => 1,
        Memory::Local => 2,
        Memory::Accumulators => 3,
    }
}

/// A program on its machine, between two instructions.
#[derive(Clone)]
pub(super) struct TcuMachine {
    program: Arc<Stepped>,
    machine: Machine,
    /// The machine in float, and a description of its numbers.
    float: Option<(Machine, &'static str)>,
    losing: Losing<Arc<[LostWrite]>>,
    position: usize,
    /// Whether it stops at reads of unwritten memory.
    is_strict: bool,
    /// By part, the end of the range written from outside.
    filled: Vec<u64>,
    /// The program, for a run on its circuit.
    on_circuit: Option<Arc<TcuProgram>>,
}

impl TcuMachine {
    /// Creates a machine before the first instruction; it loses the writes `lost`.
    pub fn new(program: Stepped, machine: Machine, lost: Vec<LostWrite>, is_strict: bool) -> Self {
        Self {
            filled: vec![0; program.parts.len()],
            program: Arc::new(program),
            machine,
            float: None,
            losing: Losing::new(lost.into()),
            position: 0,
            is_strict,
            on_circuit: None,
        }
    }

    /// Adds the program, whose instance may have a circuit.
    pub fn with_circuit(self, program: TcuProgram) -> Self {
        Self { on_circuit: Some(Arc::new(program)), ..self }
    }

    /// Adds a machine in float.
    pub fn beside(self, float: Machine, are: &'static str) -> Self {
        Self { float: Some((float, are)), ..self }
    }

    /// Implements [`npukit_target::Machine::cosim`].
    fn run_on_circuit(
        &mut self,
        program: &TcuProgram,
        options: &CosimOptions,
        judge: &mut CosimJudge<'_>,
    ) -> Result<(), TargetError> {
        let Stepped { ops, memory, .. } = &*self.program;
        let circuit = program.circuit(options.defects)?;
        let end = |part| self.program.place(part).map_or(0, |place| self.filled[place]);
        let start = Start::of_parts(&self.machine, end, ops)?;
        let beside = ExpectedRun::from_start(program.program(), circuit, start, *memory, options)?;
        // The result is ignored: it matters only to a caller with several programs.
        let _one = judge(&beside.to_run());
        self.machine = beside.into_outcome().machine;
        self.position = ops.len();
        Ok(())
    }

    /// Returns the clock of the board, if the run has a cycle limit.
    fn meter(&self, limits: Limits) -> Result<Option<(Meter, u64)>, Stopped> {
        let Some(limit) = limits.cycles else { return Ok(None) };
        let clock = Clock::new(&self.program.config, self.program.memory).map_err(Stopped::uncounted)?;
        Ok(Some((clock.meter(), limit)))
    }

    /// Returns the number format of a memory; `None` for integers.
    fn format(&self, memory: usize) -> Option<NumberFormat> {
        let Stepped { config, parts, .. } = &*self.program;
        parts[memory].has_reals().then(|| config.data_type.format())
    }
}

impl npukit_target::Machine for TcuMachine {
    fn outline(&self) -> &Outline {
        &self.program.outline
    }

    fn steps(&self) -> usize {
        self.program.ops.len()
    }

    fn position(&self) -> usize {
        self.position
    }

    fn step(&mut self) -> Result<Vec<String>, TargetError> {
        let Some(op) = self.program.ops.get(self.position) else { return Ok(Vec::new()) };
        let before = self.losing.clone();
        self.losing.before(&mut self.machine, self.position);
        let executed = match execute(|| attempt(&mut self.machine, op, self.is_strict)) {
            Ok(executed) => executed,
            Err(error) => {
                self.losing = before;
                return Err(error);
            }
        };
        let mut remarks: Vec<String> = executed.remark.into_iter().collect();
        // Faults of an instruction do not depend on values, so floats cannot fault if numbers do
        // not.
        remarks.extend(step_float(&mut self.float, |(float, _)| float.step(op).map(drop)));
        self.position += 1;
        Ok(remarks)
    }

    fn run(&mut self, limits: Limits) -> Result<RunOutcome, Stopped> {
        let mut meter = self.meter(limits)?;
        let (mut ran, saturated) = run_steps(self, limits, |machine, index| match &mut meter {
            Some((meter, limit)) => within(meter, *limit, index, &machine.program.ops[index]),
            None => Ok(()),
        })?;
        let name = self.program.config.data_type.name();
        ran.remarks.extend(saturated.map(|all| {
            let Saturated { count, total, .. } = all;
            all.remark(format!("{count} of its results saturated in {name}; {total} in the whole run"))
        }));
        Ok(ran)
    }

    fn cosim(
        &mut self,
        options: &CosimOptions,
        judge: &mut CosimJudge<'_>,
    ) -> Option<Result<(), TargetError>> {
        let program = Arc::clone(self.on_circuit.as_ref()?);
        Some(self.run_on_circuit(&program, options, judge))
    }

    fn fork(&self) -> Box<dyn npukit_target::Machine> {
        Box::new(self.clone())
    }

    fn views(&self) -> Vec<View> {
        let shown = |(place, part): (usize, &Part)| {
            let (view, about) = part.view();
            (view.to_owned(), Shown::new(place, about))
        };
        View::grouped(self.program.parts.iter().enumerate().map(shown))
    }

    fn read(&self, memory: usize, address: u64, count: u64) -> Result<Vec<i64>, TargetError> {
        self.machine.numbers(self.program.parts[memory], address, count).map_err(TargetError::failed)
    }

    fn write(&mut self, memory: usize, address: u64, numbers: &[i64]) -> Result<(), TargetError> {
        put(&mut self.machine, self.program.parts[memory], address, numbers)?;
        let lanes = self.program.outline.memories[memory].lanes.max(1);
        self.filled[memory] = self.filled[memory].max(address + (numbers.len() / lanes) as u64);
        Ok(())
    }

    fn number(&self, memory: usize, real: f64) -> Option<i64> {
        Some(number_of(self.format(memory)?, real))
    }

    fn real(&self, memory: usize, number: i64) -> Option<f64> {
        Some(real_of(self.format(memory)?, number))
    }

    fn floats(&self, memory: usize, address: u64, count: u64) -> Option<Floats> {
        let (part, (float, are)) = (self.program.parts[memory], self.float.as_ref()?);
        let numbers = float.numbers(part, address, count).ok().filter(|_| part.has_reals())?;
        let format = float.config().data_type.format();
        let values = numbers.into_iter().map(|number| real_of(format, number)).collect();
        Some(Floats { values, are })
    }

    fn accesses(&self, step: usize) -> Vec<Accessed> {
        self.program.accesses(step)
    }

    fn operands(&self, step: usize, scalar: Scalar) -> Vec<Operand> {
        self.program.operands(step, scalar)
    }

    fn motion(&self) -> Result<Option<Motion>, TargetError> {
        self.product_in_motion()
    }

    fn listing(&self) -> Result<Vec<ListingLine>, TargetError> {
        let Stepped { config, ops, .. } = &*self.program;
        let bytes = encode_program(config, ops).map_err(TargetError::failed)?;
        let lines = npukit_asm::disassemble(&isa(config), &bytes).listing();
        Ok(instruction_lines(lines))
    }

    fn saturations(&self) -> u64 {
        self.machine.saturations().count()
    }

    fn moments(&self) -> Result<Vec<Moment>, TargetError> {
        let Stepped { config, ops, memory, .. } = &*self.program;
        let cycles = estimate(config, ops).cycles;
        if cycles > MAX_CYCLES {
            let message =
                format!("the program takes {cycles} cycles, but the clock supports at most {MAX_CYCLES}");
            return Err(TargetError::failed(message));
        }
        let clock = Clock::new(config, *memory).map_err(TargetError::failed)?;
        let mut waits: Vec<Vec<(String, String, u64)>> = vec![Vec::new(); ops.len()];
        let timeline = clock.run_traced(ops, &mut |happening| {
            let Happening::Wait(Waiting { instruction, unit, on, cycles, .. }) = happening else { return };
            if let Some(waits) = waits.get_mut(instruction) {
                waits.push((unit.name().to_owned(), on.to_owned(), cycles));
            }
        });
        let mut start = 0;
        let moments = timeline.accept.iter().zip(waits).map(|(accept, waits)| {
            let begins = std::mem::replace(&mut start, accept + 1);
            Moment { start: begins, end: accept + 1, waits }
        });
        Ok(moments.collect())
    }
}

/// Maximum cycles, by the estimator, of a program for which the clock runs.
const MAX_CYCLES: u64 = 1 << 28;

/// Executes an instruction. If it reads unwritten memory, the memory is marked as written unless
/// `is_strict`.
fn attempt(machine: &mut Machine, op: &Op, is_strict: bool) -> Result<(), Halt> {
    match machine.step(op) {
        Ok(()) => Ok(()),
        Err(fault) if fault.is_unwritten() && !is_strict => {
            machine.settle(op);
            Err(Halt::Unwritten(format!("{fault}; it reads as 0")))
        }
        Err(fault) => Err(Halt::Fault(faulty(&fault))),
    }
}

/// Writes numbers to a part, starting at `address`. Errors: addresses that do not exist;
/// configuration registers, which only instructions can write.
fn put(machine: &mut Machine, part: Part, address: u64, numbers: &[i64]) -> Result<(), TargetError> {
    let raw: Vec<i32> = numbers.iter().map(|&number| number as i32).collect();
    match part {
        Part::Memory(memory) => return machine.write(memory, address, &raw).map_err(TargetError::failed),
        Part::Weights => machine.set_weights(address, &raw),
        Part::Register(register) => machine.set_register(register, &raw),
        Part::Configuration(register) => {
            let name = register.name();
            let reason = format!("only instructions can write `{name}`: `configure {name}, VALUE`");
            return Err(TargetError::failed(reason));
        }
    }
    Ok(())
}

/// Counts the cycles of an instruction. Errors: it ends after the limit.
fn within(meter: &mut Meter, limit: u64, index: usize, op: &Op) -> Result<(), TargetError> {
    meter.push(op);
    if meter.cycles() > limit { Err(Stopped::limit(index, limit, "cycles").error) } else { Ok(()) }
}

fn faulty(fault: &FaultKind) -> TargetError {
    TargetError::failed(format!("{fault}; {}", fault.hint()))
}
