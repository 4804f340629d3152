//! [`Written`]: a program that a person wrote, in assembly or in words, and the machine that it runs on.

use npukit_numeric::NumberFormat;
use npukit_target::{
    Bench, BenchMemory, BenchOptions, Compiled, CosimJudge, CosimOptions, Halt, HandProgram, Limits,
    ProgramText, Ran, Remark, Session, Stopped, TargetError, Unset, number_of, real_of, step_through,
};

use super::program::TcuProgram;
use super::session::{Debugged, TcuSession};
use crate::clock::{Clock, ClockParams, Meter};
use crate::config::{Config, System};
use crate::cosim::{Beside, Start};
use crate::fault::FaultKind;
use crate::hazard::{Losing, LostWrite};
use crate::machine::{Machine, Part};
use crate::op::Op;
use crate::program::{MemoryUse, Program};

/// A program without tensors.
pub(super) struct Written {
    program: Program,
    board: String,
    text: ProgramText,
}

impl Written {
    pub fn new(
        name: String,
        (board, config, system): (&str, &Config, &System),
        instructions: Vec<Op>,
        text: ProgramText,
    ) -> Self {
        let program = Program {
            name,
            config: config.clone(),
            instructions,
            constants: Vec::new(),
            load_consts_to_local: false,
            inputs: Vec::new(),
            outputs: Vec::new(),
            host_steps: Vec::new(),
            layers: Vec::new(),
            memory: MemoryUse::default(),
            system: Some(system.clone()),
        };
        Self { program, board: board.to_owned(), text }
    }

    fn program(&self) -> TcuProgram {
        TcuProgram::loaded(self.program.clone(), Some(self.board.clone()))
    }

    /// The same error, in which what hardware computes otherwise has its line of the text.
    fn with_lines(&self, error: TargetError) -> TargetError {
        let TargetError::Differs(mut findings) = error else { return error };
        for finding in &mut findings {
            if let Some(&place) = finding.instruction.and_then(|index| self.text.places.get(index)) {
                let (file, line, _) = self.text.sources.position_of(place);
                finding.message = format!("{file}, line {line}: {}", finding.message);
            }
        }
        TargetError::Differs(findings)
    }
}

impl HandProgram for Written {
    fn text(&self) -> &ProgramText {
        &self.text
    }

    fn bench(&self, options: &BenchOptions) -> Result<Box<dyn Bench>, TargetError> {
        let Program { config, instructions, name, .. } = &self.program;
        let program = self.program();
        let lost = program.lost(options.meaning).map_err(|error| self.with_lines(error))?;
        let machine = Machine::with_unset(config, options.unset).map_err(TargetError::failed)?;
        let parts = Part::all(config);
        Ok(Box::new(OnBench {
            filled: vec![0; parts.len()],
            name: name.clone(),
            target: format!("tcu:{}", self.board),
            machine: machine.watching_reads(),
            parts,
            ops: instructions.clone(),
            lost,
            memory: program.board_memory(),
            is_strict: options.unset == Unset::Poison,
            program,
        }))
    }

    fn compiled(&self) -> Result<Box<dyn Compiled>, TargetError> {
        Ok(Box::new(self.program()))
    }
}

struct OnBench {
    name: String,
    target: String,
    machine: Machine,
    parts: Vec<Part>,
    /// Of each part, the end of what has been written to it.
    filled: Vec<u64>,
    ops: Vec<Op>,
    /// Writes that hardware loses, when that is what is meant.
    lost: Vec<LostWrite>,
    /// The memory of the board, for its clock.
    memory: ClockParams,
    /// Whether it stops at what nobody has written.
    is_strict: bool,
    /// The same, for its circuit.
    program: TcuProgram,
}

impl OnBench {
    /// What [`Bench::cosim`] does.
    fn on_circuit(&mut self, options: &CosimOptions, judge: &mut CosimJudge<'_>) -> Result<(), TargetError> {
        let circuit = self.program.circuit(options.defects)?;
        let end = |part| {
            self.parts.iter().zip(&self.filled).find(|&(own, _)| *own == part).map_or(0, |(_, &end)| end)
        };
        let start = Start::of_parts(&self.machine, end, &self.ops)?;
        let beside = Beside::from_start(self.program.program(), circuit, start, self.memory, options)?;
        // Whether there is more to be seen matters to who has more programs.
        let _one = judge(&beside);
        self.machine = beside.into_outcome().machine;
        Ok(())
    }

    fn format(&self) -> NumberFormat {
        self.machine.config().data_type.format()
    }

    /// The clock of the board, when a run may take only so many cycles.
    fn meter(&self, limits: Limits) -> Result<Option<(Meter, u64)>, Stopped> {
        let Some(limit) = limits.cycles else { return Ok(None) };
        match Clock::new(self.machine.config(), self.memory) {
            Ok(clock) => Ok(Some((clock.meter(), limit))),
            Err(error) => Err(Stopped {
                instruction: None,
                error: TargetError::failed(format!(
                    "cycles cannot be limited, as nothing counts them: {error}"
                )),
            }),
        }
    }
}

impl Bench for OnBench {
    fn memories(&self) -> Vec<BenchMemory> {
        self.parts.iter().map(|part| part.memory(self.machine.config())).collect()
    }

    fn write(&mut self, memory: usize, address: u64, numbers: &[i64]) -> Result<(), TargetError> {
        put(&mut self.machine, self.parts[memory], address, numbers)?;
        let lanes = self.parts[memory].memory(self.machine.config()).lanes.max(1);
        let end = address + (numbers.len() / lanes) as u64;
        self.filled[memory] = self.filled[memory].max(end);
        Ok(())
    }

    fn read(&self, memory: usize, address: u64, count: u64) -> Result<Vec<i64>, TargetError> {
        self.machine.numbers(self.parts[memory], address, count).map_err(TargetError::failed)
    }

    fn number(&self, memory: usize, real: f64) -> Option<i64> {
        self.parts[memory].has_reals().then(|| number_of(self.format(), real))
    }

    fn real(&self, memory: usize, number: i64) -> Option<f64> {
        self.parts[memory].has_reals().then(|| real_of(self.format(), number))
    }

    fn run(&mut self, limits: Limits) -> Result<Ran, Stopped> {
        let mut meter = self.meter(limits)?;
        let Self { machine, ops, lost, is_strict, .. } = self;
        let (mut losing, mut saturated) = (Losing::new(lost), Saturated::default());
        let mut begun = None;
        let mut ran = step_through(ops.len(), limits, |index| {
            let op = &ops[index];
            // An instruction that is executed again has begun before.
            if begun.replace(index) != Some(index) {
                losing.before(machine, index);
                if let Some((meter, limit)) = &mut meter {
                    within(meter, *limit, index, op)?;
                }
            }
            attempt(machine, op, *is_strict)?;
            saturated.after(index, machine);
            Ok(())
        })?;
        ran.remarks.extend(saturated.remark(machine.config()));
        Ok(ran)
    }

    fn cosim(
        &mut self,
        options: &CosimOptions,
        judge: &mut CosimJudge<'_>,
    ) -> Option<Result<(), TargetError>> {
        Some(self.on_circuit(options, judge))
    }

    fn session(self: Box<Self>) -> Result<Box<dyn Session>, TargetError> {
        let Self { name, target, machine, ops, lost, memory, is_strict, .. } = *self;
        let program = Debugged::new((name, target), machine.config(), ops, memory);
        Ok(Box::new(TcuSession::new(program, machine, lost, is_strict)))
    }
}

/// Executes an instruction. Where it reads what nobody has written, that is marked as written unless it `is_strict`.
pub(super) fn attempt(machine: &mut Machine, op: &Op, is_strict: bool) -> Result<(), Halt> {
    match machine.step(op) {
        Ok(()) => Ok(()),
        Err(fault) if fault.is_unwritten() && !is_strict => {
            machine.settle(op);
            Err(Halt::Unwritten(format!("{fault}; it reads as 0")))
        }
        Err(fault) => Err(Halt::Fault(faulty(&fault))),
    }
}

/// Writes numbers to a part from `address` on. Errors: addresses that are not there; configuration registers, which
/// instructions write alone.
pub(super) fn put(
    machine: &mut Machine,
    part: Part,
    address: u64,
    numbers: &[i64],
) -> Result<(), TargetError> {
    let raw: Vec<i32> = numbers.iter().map(|&number| number as i32).collect();
    match part {
        Part::Memory(memory) => return machine.write(memory, address, &raw).map_err(TargetError::failed),
        Part::Weights => machine.set_weights(address, &raw),
        Part::Register(register) => machine.set_register(register, &raw),
        Part::Configuration(register) => {
            let name = register.name();
            let reason = format!("`{name}` is written by instructions alone: `configure {name}, VALUE`");
            return Err(TargetError::failed(reason));
        }
    }
    Ok(())
}

/// Counts the cycles of an instruction. Errors: it ends behind the last that are allowed.
fn within(meter: &mut Meter, limit: u64, index: usize, op: &Op) -> Result<(), Halt> {
    meter.push(op);
    if meter.cycles() > limit {
        Err(Halt::Fault(Stopped::limit(index, limit, "cycles").error))
    } else {
        Ok(())
    }
}

fn faulty(fault: &FaultKind) -> TargetError {
    TargetError::failed(format!("{fault}; {}", fault.hint()))
}

/// Results that did not fit the number format.
#[derive(Default)]
struct Saturated {
    /// Of the first instruction that had some: its index, and how many.
    first: Option<(usize, u64)>,
    total: u64,
}

impl Saturated {
    fn after(&mut self, index: usize, machine: &Machine) {
        let total = machine.saturations().count();
        if total > self.total && self.first.is_none() {
            self.first = Some((index, total));
        }
        self.total = total;
    }

    fn remark(&self, config: &Config) -> Option<Remark> {
        let (index, count) = self.first?;
        let (name, all) = (config.data_type.name(), self.total);
        let message =
            format!("{count} of its results did not fit {name} and were clamped; {all} in the whole run");
        Some(Remark { instruction: Some(index), message })
    }
}
