//! [`Executable`]: a plan with its kernels scheduled, and the driver that runs it.

use std::collections::HashMap;

use thiserror::Error;

use super::calls::{Call, Load};
use super::column::{Column, columns};
use super::format::integer;
use super::gather::{Gather, offset};
use super::kernels::{Kernel, Operands};
use super::plan::{Plan, Source, Task};
use crate::binary::Image;
use crate::fabric::{Fabric, ROW_WORDS, Row};
use crate::fault::Fault;
use crate::kernel;
use crate::lower::kernels::Kind;
use crate::machine::{LoadError, Machine};
use crate::pasm::PasmErrors;

/// Elements that a value may have.
pub const MOST_ELEMENTS: usize = 1 << 28;

/// For each task of a step, its calls and the number of each one's program.
pub type StepCalls = Vec<Vec<(Call, usize)>>;

/// A plan whose kernels are programs.
#[derive(Clone, Debug)]
pub struct Executable {
    /// The fabric.
    pub fabric: Fabric,
    /// The columns that compute.
    pub columns: Vec<Column>,
    /// What is done.
    pub plan: Plan,
    /// The programs.
    pub kernels: Vec<Ready>,
    /// Those of each step.
    pub calls: Vec<StepCalls>,
}

/// A kernel, scheduled.
#[derive(Clone, Debug)]
pub struct Ready {
    /// What it is.
    pub kernel: Kernel,
    /// As PASM.
    pub pasm: String,
    /// As words.
    pub compiled: kernel::Kernel,
}

/// What a run was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ran {
    /// Integers of every value that was computed.
    pub values: Vec<Vec<i16>>,
    /// Cycles of each step.
    pub cycles: Vec<u64>,
    /// Results of each step at either end of the range of words, where sums saturate.
    pub extremes: Vec<u64>,
}

/// Why a plan cannot be run.
#[derive(Debug, Error)]
pub enum ExecuteError {
    /// A kernel of ours that is none.
    #[error("kernel {kernel} is no program: {error}\n{}", .error.errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Kernel {
        /// Its name.
        kernel: String,
        /// What is wrong.
        error: Box<PasmErrors>,
    },
    /// A tensor that is too large.
    #[error("`{name}` has {elements} elements; at most {MOST_ELEMENTS} are kept")]
    Size {
        /// Its name.
        name: String,
        /// Its size.
        elements: usize,
    },
    /// The machine refuses a kernel.
    #[error("step `{step}`: {error}")]
    Load {
        /// The step.
        step: String,
        /// What is wrong.
        error: LoadError,
    },
    /// The machine stopped.
    #[error("step `{step}`: {fault}")]
    Fault {
        /// The step.
        step: String,
        /// Why.
        fault: Box<Fault>,
    },
}

impl Executable {
    /// Schedules the kernels of a plan, each once.
    pub fn new(fabric: &Fabric, plan: Plan) -> Result<Self, ExecuteError> {
        let columns = columns(fabric).unwrap_or_default();
        let (mut kernels, mut known): (Vec<Ready>, HashMap<Kernel, usize>) = (Vec::new(), HashMap::new());
        let mut calls = Vec::new();
        for step in &plan.steps {
            let mut of_step = Vec::new();
            for task in &step.tasks {
                let mut of_task = Vec::new();
                for call in task.calls(fabric, &columns) {
                    let number = match known.get(&call.kernel) {
                        Some(&number) => number,
                        None => {
                            kernels.push(Ready::new(fabric, &columns, call.kernel.clone())?);
                            known.insert(call.kernel.clone(), kernels.len() - 1);
                            kernels.len() - 1
                        }
                    };
                    of_task.push((call, number));
                }
                of_step.push(of_task);
            }
            calls.push(of_step);
        }
        Ok(Self { fabric: fabric.clone(), columns, plan, kernels, calls })
    }

    /// Cycles of each step, as its kernels were scheduled.
    pub fn cycles(&self) -> Vec<u64> {
        let of = |number: &usize| self.kernels.get(*number).map_or(0, Ready::cycles);
        self.calls.iter().map(|step| step.iter().flatten().map(|(_, number)| of(number)).sum()).collect()
    }

    /// Runs a sample: the integers of each input, in the plan's order.
    pub fn run(&self, inputs: &[Vec<i16>]) -> Result<Ran, ExecuteError> {
        let mut ran = Ran { values: vec![Vec::new(); self.plan.values.len()], ..Ran::default() };
        for (&number, words) in self.plan.inputs.iter().zip(inputs) {
            if let Some(value) = ran.values.get_mut(number) {
                value.clone_from(words);
            }
        }
        let mut machine: Option<(usize, Machine)> = None;
        for (step, calls) in self.plan.steps.iter().zip(&self.calls) {
            let (mut result, mut cycles, mut extremes) = (self.empty(step.result)?, 0, 0);
            for (task, calls) in step.tasks.iter().zip(calls) {
                let mut put = |place: usize, word: i16| {
                    if let Some(slot) = result.get_mut(place) {
                        *slot = word;
                    }
                };
                match task {
                    Task::Fill(word) => result.fill(*word),
                    Task::Move { from, to, shift } => {
                        let words = from.words(source(&from.source, &ran.values), 0..from.count());
                        for (n, &word) in words.iter().enumerate() {
                            put(to.offset + offset(&to.axes, n), shifted(word, *shift));
                        }
                    }
                    _ => {
                        for (call, number) in calls {
                            let machine = self.machine(&mut machine, *number, &step.name)?;
                            cycles += self.call(machine, task, call, &step.name, &ran.values)?;
                            extremes += collect(machine, task, call, &mut put);
                        }
                    }
                }
            }
            ran.cycles.push(cycles);
            ran.extremes.push(if step.saturates { 0 } else { extremes });
            if let Some(value) = ran.values.get_mut(step.result) {
                *value = result;
            }
        }
        Ok(ran)
    }

    fn empty(&self, number: usize) -> Result<Vec<i16>, ExecuteError> {
        let Some(value) = self.plan.values.get(number) else { return Ok(Vec::new()) };
        let elements = value.shape.iter().fold(1_usize, |all, &size| all.saturating_mul(size));
        if elements > MOST_ELEMENTS {
            return Err(ExecuteError::Size { name: value.name.clone(), elements });
        }
        Ok(vec![0; elements])
    }

    /// The machine with this program; memories stay as they are.
    fn machine<'m>(
        &self,
        machine: &'m mut Option<(usize, Machine)>,
        number: usize,
        step: &str,
    ) -> Result<&'m mut Machine, ExecuteError> {
        let load = |error| ExecuteError::Load { step: step.to_owned(), error };
        let none = crate::Program::default();
        let program = self.kernels.get(number).map_or(&none, |ready| &ready.compiled.program);
        let (loaded, machine) = match machine {
            Some(loaded) => loaded,
            none => none.insert((number, Machine::new(&self.fabric, program).map_err(load)?)),
        };
        if *loaded != number {
            machine.reload(program).map_err(load)?;
            *loaded = number;
        }
        Ok(machine)
    }

    /// Calls a kernel: fills the input buffer, runs, and says how many cycles it took.
    fn call(
        &self,
        machine: &mut Machine,
        task: &Task,
        call: &Call,
        step: &str,
        values: &[Vec<i16>],
    ) -> Result<u64, ExecuteError> {
        let operands = task.operands();
        let mut image = Image::new();
        for load in &call.loads {
            let base = image.len();
            rows(load, &operands, values, |row, words| {
                image.insert(u32::try_from(base + row).unwrap_or(u32::MAX), words);
            });
        }
        machine.set_input(&image).map_err(|error| ExecuteError::Load { step: step.to_owned(), error })?;
        machine.output.clear();
        let run = machine.run(call.kernel.limit(), &mut ());
        let run =
            run.map_err(|fault| ExecuteError::Fault { step: step.to_owned(), fault: Box::new(fault) })?;
        Ok(run.cycles)
    }
}

impl Ready {
    fn new(fabric: &Fabric, columns: &[Column], kernel: Kernel) -> Result<Self, ExecuteError> {
        let pasm = kernel.pasm(columns);
        let name = kernel.kind.name();
        let compiled = kernel::compile(fabric, &name, &pasm, 0);
        let compiled =
            compiled.map_err(|error| ExecuteError::Kernel { kernel: name, error: Box::new(error) })?;
        Ok(Self { kernel, pasm, compiled })
    }

    /// Cycles of a call.
    pub fn cycles(&self) -> u64 {
        self.compiled.cycles.and_then(|cycles| u64::try_from(cycles).ok()).unwrap_or(0)
    }
}

impl Kernel {
    /// Words that the dpu of a column works on.
    pub fn work(&self) -> u64 {
        let words = match &self.kind {
            Kind::Stream(stream) => stream.words.next_multiple_of(ROW_WORDS * stream.period.max(1)),
            Kind::Nest(nest) => nest.results.next_multiple_of(ROW_WORDS) * nest.period,
        };
        words as u64
    }

    /// Cycles after which a call is given up.
    pub fn limit(&self) -> u64 {
        2 * self.work() + 100_000
    }

    /// Whether two operands stream.
    pub const fn is_pair(&self) -> bool {
        matches!(&self.kind, Kind::Stream(stream) if matches!(stream.operands, Operands::Pair))
    }
}

fn source<'a>(source: &'a Source, values: &'a [Vec<i16>]) -> &'a [i16] {
    match source {
        Source::Value(number) => values.get(*number).map_or(&[], Vec::as_slice),
        Source::Constant(words) => words,
    }
}

/// A word so many places to the right, rounded as a dpu does; to the left when negative. Saturates.
fn shifted(word: i16, places: i32) -> i16 {
    integer(word.into(), -places)
}

/// The rows of a load, in order; operands take turns.
fn rows(load: &Load, operands: &[&Gather], values: &[Vec<i16>], mut put: impl FnMut(usize, Row)) {
    let count = load.operands.len();
    for (turn, operand) in load.operands.iter().enumerate() {
        let Some(gather) = operands.get(*operand) else { continue };
        let words = gather.words(source(&gather.source, values), load.vectors.clone());
        for row in 0..load.rows {
            let word = |index: usize| words.get(row * ROW_WORDS + index).copied().unwrap_or(0);
            put(row * count + turn, std::array::from_fn(word));
        }
    }
}

/// Takes results out of the output buffer; counts those at either end of the range.
fn collect(machine: &Machine, task: &Task, call: &Call, put: &mut impl FnMut(usize, i16)) -> u64 {
    let (image, mut extremes) = (machine.output_image(), 0);
    let Some(to) = task.to() else { return 0 };
    for (results, bases) in call.results.iter().zip(&call.kernel.bases) {
        for index in 0..results.count {
            let row = u32::try_from(bases.output + index / ROW_WORDS).unwrap_or(u32::MAX);
            let word = image.get(&row).map_or(0, |row| row[index % ROW_WORDS]);
            extremes += u64::from(word == i16::MAX || word == i16::MIN);
            put(to.offset + offset(&to.axes, results.first + index), word);
        }
    }
    extremes
}
