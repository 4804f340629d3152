//! [`Executable::run`]: what a driver does for a sample: it moves elements, fills input buffers, calls kernels and takes
//! results out of output buffers.
//!
//! Calls of a step do not depend on each other, so that fabrics run them in parallel, as many as there are cores.

use std::sync::{Mutex, PoisonError};

use rayon::prelude::*;

use super::calls::{Call, Load, Results};
use super::executable::{Executable, ExecuteError, MOST_ELEMENTS};
use super::format::integer;
use super::gather::{Gather, offset};
use super::kernels::Bases;
use super::plan::{Place, Source, Step, Task};
use crate::fabric::{ROW_WORDS, Row};
use crate::machine::{LoadError, Machine};

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

impl Executable {
    /// Runs a sample: the integers of each input, in the plan's order. Work is spread over the threads of `rayon`.
    pub fn run(&self, inputs: &[Vec<i16>]) -> Result<Ran, ExecuteError> {
        let values = vec![Vec::new(); self.plan.values.len()];
        let mut driver = Driver { executable: self, values, machines: Mutex::default() };
        for (&number, words) in self.plan.inputs.iter().zip(inputs) {
            driver.set(number, words.clone());
        }
        let (mut cycles, mut extremes) = (Vec::new(), Vec::new());
        for (step, calls) in self.plan.steps.iter().zip(&self.calls) {
            let mut result = self.empty(step.result)?;
            let of_step = driver.step(step, calls, &mut result)?;
            cycles.push(of_step.cycles);
            extremes.push(if step.saturates { 0 } else { of_step.extremes });
            driver.set(step.result, result);
        }
        Ok(Ran { values: driver.values, cycles, extremes })
    }

    fn empty(&self, number: usize) -> Result<Vec<i16>, ExecuteError> {
        let Some(value) = self.plan.values.get(number) else { return Ok(Vec::new()) };
        let elements = value.shape.iter().fold(1_usize, |all, &size| all.saturating_mul(size));
        if elements > MOST_ELEMENTS {
            return Err(ExecuteError::Size { name: value.name.clone(), elements });
        }
        Ok(vec![0; elements])
    }
}

/// A run on its way.
struct Driver<'a> {
    executable: &'a Executable,
    values: Vec<Vec<i16>>,
    /// Fabrics that nobody uses, and the number of the kernel that each holds.
    machines: Mutex<Vec<(usize, Machine)>>,
}

/// A call with its task and the number of its kernel.
#[derive(Clone, Copy)]
struct Job<'a> {
    task: &'a Task,
    call: &'a Call,
    kernel: usize,
}

#[derive(Default)]
struct Spent {
    cycles: u64,
    extremes: u64,
}

impl Driver<'_> {
    fn set(&mut self, number: usize, words: Vec<i16>) {
        if let Some(value) = self.values.get_mut(number) {
            *value = words;
        }
    }

    fn source<'s>(&'s self, source: &'s Source) -> &'s [i16] {
        match source {
            Source::Value(number) => self.values.get(*number).map_or(&[], Vec::as_slice),
            Source::Constant(words) => words,
        }
    }

    /// Moves and calls in their order; calls next to each other at once.
    fn step(
        &self,
        step: &Step,
        calls: &[Vec<(Call, usize)>],
        result: &mut [i16],
    ) -> Result<Spent, ExecuteError> {
        let (mut spent, mut jobs) = (Spent::default(), Vec::new());
        for (task, calls) in step.tasks.iter().zip(calls) {
            if matches!(task, Task::Fill(_) | Task::Move { .. }) {
                self.perform(step, &std::mem::take(&mut jobs), result, &mut spent)?;
            }
            match task {
                Task::Fill(word) => result.fill(*word),
                Task::Move { from, to, shift } => {
                    let words = from.words(self.source(&from.source), 0..from.count());
                    let words = words.into_iter().map(|word| shifted(word, *shift));
                    put(result, to, 0, words);
                }
                _ => jobs.extend(calls.iter().map(|(call, kernel)| Job { task, call, kernel: *kernel })),
            }
        }
        self.perform(step, &jobs, result, &mut spent)?;
        Ok(spent)
    }

    /// All calls, on as many fabrics as there are threads.
    fn perform(
        &self,
        step: &Step,
        jobs: &[Job<'_>],
        result: &mut [i16],
        spent: &mut Spent,
    ) -> Result<(), ExecuteError> {
        let done: Vec<_> = jobs.par_iter().map(|job| self.call(step, *job)).collect();
        for (job, done) in jobs.iter().zip(done) {
            let (cycles, rows) = done?;
            spent.cycles += cycles;
            let Some(to) = job.task.to() else { continue };
            for (results, words) in job.call.results.iter().zip(rows) {
                let ends = words.iter().filter(|word| matches!(**word, i16::MAX | i16::MIN));
                spent.extremes += ends.count() as u64;
                put(result, to, results.first, words.into_iter());
            }
        }
        Ok(())
    }

    /// Calls a kernel: its cycles, and each column's results.
    fn call(&self, step: &Step, job: Job<'_>) -> Result<(u64, Vec<Vec<i16>>), ExecuteError> {
        let Job { task, call, kernel } = job;
        let load = |error| ExecuteError::Load { step: step.name.clone(), error };
        let mut machine = self.machine(kernel).map_err(load)?;
        let mut base = 0;
        for of_load in &call.loads {
            self.load(&mut machine, of_load, &task.operands(), base).map_err(load)?;
            base += of_load.all_rows();
        }
        let run = machine.run(call.kernel.limit(), &mut ());
        let run =
            run.map_err(|fault| ExecuteError::Fault { step: step.name.clone(), fault: Box::new(fault) })?;
        let columns = call.results.iter().zip(&call.kernel.bases);
        let rows = columns.map(|(results, bases)| taken(&machine, results, bases)).collect();
        self.machines.lock().unwrap_or_else(PoisonError::into_inner).push((kernel, machine));
        Ok((run.cycles, rows))
    }

    /// A fabric with this kernel and empty buffers; its memories are as they were left.
    fn machine(&self, kernel: usize) -> Result<Machine, LoadError> {
        let none = crate::Program::default();
        let ready = self.executable.kernels.get(kernel);
        let program = ready.map_or(&none, |ready| &ready.compiled.program);
        let free = {
            let mut machines = self.machines.lock().unwrap_or_else(PoisonError::into_inner);
            let same = machines.iter().position(|(loaded, _)| *loaded == kernel);
            same.map(|index| machines.swap_remove(index)).or_else(|| machines.pop())
        };
        let Some((loaded, mut machine)) = free else { return Machine::new(&self.executable.fabric, program) };
        if loaded != kernel {
            machine.reload(program)?;
        }
        machine.input.clear();
        machine.output.clear();
        Ok(machine)
    }

    /// Writes the rows of a load from row `base` of the input buffer on; operands take turns.
    fn load(
        &self,
        machine: &mut Machine,
        load: &Load,
        operands: &[&Gather],
        base: usize,
    ) -> Result<(), LoadError> {
        let count = load.operands.len();
        for (turn, operand) in load.operands.iter().enumerate() {
            let Some(gather) = operands.get(*operand) else { continue };
            let words = gather.words(self.source(&gather.source), load.vectors.clone());
            for number in 0..load.rows {
                let word = |index: usize| words.get(number * ROW_WORDS + index).copied().unwrap_or(0);
                let (row, values): (usize, Row) = (base + number * count + turn, std::array::from_fn(word));
                let depth = self.executable.fabric.input_depth;
                let beyond = |_| LoadError::Input { row: u32::try_from(row).unwrap_or(u32::MAX), depth };
                machine.input.write(row, values).map_err(beyond)?;
            }
        }
        Ok(())
    }
}

/// The results of a column, out of the output buffer.
fn taken(machine: &Machine, results: &Results, bases: &Bases) -> Vec<i16> {
    let rows = (bases.output..).take(results.count.div_ceil(ROW_WORDS));
    rows.flat_map(|row| machine.output.read(row).unwrap_or_default()).take(results.count).collect()
}

/// Puts results into their places, from that of number `first` on.
fn put(result: &mut [i16], to: &Place, first: usize, words: impl Iterator<Item = i16>) {
    for (number, word) in words.enumerate() {
        if let Some(slot) = result.get_mut(to.offset + offset(&to.axes, first + number)) {
            *slot = word;
        }
    }
}

/// A word so many places to the right, rounded as a dpu does; to the left when negative. Saturates.
fn shifted(word: i16, places: i32) -> i16 {
    integer(word.into(), -places)
}
