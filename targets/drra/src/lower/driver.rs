//! [`Runner`]: what a driver does for a sample: it moves elements, fills input buffers, calls kernels and takes
//! results out of output buffers.
//!
//! Calls of a step do not depend on each other, so that fabrics run them in parallel, as many as there are cores.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use npukit_target::{Phase, Unset};
use rayon::prelude::*;

use super::calls::{Call, Load, Results};
use super::executable::{CallError, Executable, ExecuteError, MAX_ELEMENTS};
use super::gather::{Gather, offset};
use super::kernels::Bases;
use super::plan::{Place, Plan, Source, Step, Task};
use crate::exec::word::Word;
use crate::fabric::{Fabric, ROW_WORDS, Row};
use crate::fault::Fault;
use crate::machine::{LoadError, Machine, Run};
use crate::op::DpuMode;
use crate::revision::Revision;

/// What a run was.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ran<W = i16> {
    /// Integers of every value that was computed.
    pub values: Vec<Vec<W>>,
    /// Cycles of each step.
    pub cycles: Vec<u64>,
    /// Results of each step that saturated: those at either end of the range of words, and sums that did not fit
    /// their accumulator on the way.
    pub saturations: Vec<u64>,
}

impl Executable {
    /// Runs a sample: the integers of each input, in the plan's order. Work is spread over the threads of `rayon`.
    ///
    /// # Errors
    ///
    /// What the machine refuses or faults on, with the step; a value that is too large.
    pub fn run(&self, inputs: &[Vec<i16>]) -> Result<Ran, ExecuteError> {
        Runner::new(self, self.fabric.options.revision, Unset::Zero).run(inputs)
    }

    fn empty<W: Word>(&self, number: usize) -> Result<Vec<W>, ExecuteError> {
        let value = &self.plan.values[number];
        let elements = value.elements();
        if elements > MAX_ELEMENTS {
            return Err(ExecuteError::Size { name: value.name.clone(), elements });
        }
        Ok(vec![W::default(); elements])
    }

    /// The inputs have as many elements as the plan says.
    fn check_inputs<W>(&self, inputs: &[Vec<W>]) -> Result<(), ExecuteError> {
        let Plan { values, inputs: numbers, .. } = &self.plan;
        if inputs.len() != numbers.len() {
            return Err(ExecuteError::Inputs { given: inputs.len(), expected: numbers.len() });
        }
        for (&number, words) in numbers.iter().zip(inputs) {
            let (value, given) = (&values[number], words.len());
            if given != value.elements() {
                return Err(ExecuteError::Input {
                    name: value.name.clone(),
                    given,
                    expected: value.elements(),
                });
            }
        }
        Ok(())
    }
}

/// Runs samples one after the other on the same fabrics.
pub struct Runner<'a, W: Word = i16> {
    executable: &'a Executable,
    /// The executable's, as the revision that counts.
    fabric: Fabric,
    /// What fabrics and buffers hold before each call.
    unset: Unset,
    /// Fabrics that nobody uses, and the number of the kernel that each holds.
    machines: Mutex<Vec<(usize, Machine<W>)>>,
}

impl<'a, W: Word> Runner<'a, W> {
    /// On fabrics of a revision, which hold nothing, or anything, beyond what the driver writes.
    pub fn new(executable: &'a Executable, revision: Revision, unset: Unset) -> Self {
        let mut fabric = executable.fabric.clone();
        fabric.options.revision = revision;
        Self { executable, fabric, unset, machines: Mutex::default() }
    }

    /// Runs a sample: the integers of each input, in the plan's order. Work is spread over the threads of `rayon`.
    ///
    /// # Errors
    ///
    /// What the machine refuses or faults on, a value that is too large, inputs that are not the plan's.
    pub fn run(&self, inputs: &[Vec<W>]) -> Result<Ran<W>, ExecuteError> {
        let Executable { plan, calls, .. } = self.executable;
        self.executable.check_inputs(inputs)?;
        let values = vec![Vec::new(); plan.values.len()];
        let mut driver = Driver { runner: self, executable: self.executable, values };
        for (&number, words) in plan.inputs.iter().zip(inputs) {
            driver.values[number].clone_from(words);
        }
        let (mut cycles, mut saturations, of_graph) = (Vec::new(), Vec::new(), plan.of_graph());
        let phase = Phase::detail("run steps", plan.steps.len());
        for (step, calls) in plan.steps.iter().zip(calls) {
            let mut result = self.executable.empty(step.result)?;
            let of_step = driver.step(step, calls, &mut result)?;
            cycles.push(of_step.cycles);
            saturations.push(if step.saturates { 0 } else { of_step.saturations });
            if step.result < of_graph {
                result.iter_mut().for_each(|word| *word = word.made());
            }
            driver.values[step.result] = result;
            phase.advance();
        }
        Ok(Ran { values: driver.values, cycles, saturations })
    }

    /// A fabric with this kernel and empty buffers; without garbage and poison its memories are as they were left.
    fn machine(&self, kernel: usize) -> Result<Machine<W>, LoadError> {
        let program = &self.executable.kernels[kernel].compiled.program;
        let free = {
            let mut machines = self.machines.lock().unwrap_or_else(PoisonError::into_inner);
            let same = machines.iter().position(|(loaded, _)| *loaded == kernel);
            same.map(|index| machines.swap_remove(index)).or_else(|| machines.pop())
        };
        let mut machine = match free {
            None => Machine::of_words(&self.fabric, program)?,
            Some((loaded, machine)) if loaded == kernel => machine,
            Some((_, mut machine)) => {
                machine.reload(program)?;
                machine
            }
        };
        machine.unset(match self.unset {
            Unset::Garbage(seed) => Unset::Garbage(seed.wrapping_add(kernel as u64)),
            other => other,
        });
        Ok(machine)
    }

    /// Gives a fabric back.
    fn free(&self, kernel: usize, machine: Machine<W>) {
        self.machines.lock().unwrap_or_else(PoisonError::into_inner).push((kernel, machine));
    }
}

/// A run on its way.
struct Driver<'a, W: Word> {
    runner: &'a Runner<'a, W>,
    executable: &'a Executable,
    values: Vec<Vec<W>>,
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
    saturations: u64,
}

/// What a call gave.
struct Called<W> {
    /// Cycles, and sums that saturated on their way.
    run: Run,
    /// The results of each column.
    rows: Vec<Vec<W>>,
}

impl<W: Word> Driver<'_, W> {
    /// The words of some vectors of a step.
    fn words(&self, step: &Step, gather: &Gather, vectors: Range<usize>) -> Vec<W> {
        match &gather.source {
            Source::Value(number) => gather.words(&self.values[*number], vectors),
            Source::Constant(words) if step.saturates => gather.words_of(words, vectors, W::limit),
            Source::Constant(words) => gather.words_of(words, vectors, W::constant),
        }
    }

    /// Moves and calls in their order; calls next to each other at once.
    fn step(
        &self,
        step: &Step,
        calls: &[Vec<(Call, usize)>],
        result: &mut [W],
    ) -> Result<Spent, ExecuteError> {
        let (mut spent, mut jobs) = (Spent::default(), Vec::new());
        for (task, calls) in step.tasks.iter().zip(calls) {
            if matches!(task, Task::Fill(_) | Task::Move { .. }) {
                self.perform(step, &std::mem::take(&mut jobs), result, &mut spent)?;
            }
            match task {
                Task::Fill(word) => result.fill(W::constant(*word)),
                Task::Move { from, to, shift } => {
                    let words = self.words(step, from, 0..from.count());
                    let words = words.into_iter().map(|word| word.shifted(*shift));
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
        result: &mut [W],
        spent: &mut Spent,
    ) -> Result<(), ExecuteError> {
        let done: Vec<_> = jobs.par_iter().map(|job| self.call(step, *job)).collect();
        for (job, done) in jobs.iter().zip(done) {
            let Called { run, rows } = done?;
            spent.cycles += run.cycles;
            spent.saturations += run.saturated_sums;
            // The machine knows of every sum of `mac` whether it saturated; of other results, those at the ends may have.
            let is_counted = job.call.kernel.kind.work().mode == DpuMode::Mac;
            let Some(to) = job.task.to() else { continue };
            for (results, words) in job.call.results.iter().zip(rows) {
                let ends = words.iter().filter(|word| word.is_end()).count();
                spent.saturations += if is_counted { 0 } else { ends as u64 };
                put(result, to, results.first, words.into_iter());
            }
        }
        Ok(())
    }

    /// Calls a kernel.
    fn call(&self, step: &Step, job: Job<'_>) -> Result<Called<W>, ExecuteError> {
        let Job { task, call, kernel } = job;
        let (of, step, runner) = (step, &step.name, self.runner);
        let load = |error: LoadError| CallError::from(error).of_step(step);
        let mut machine = runner.machine(kernel).map_err(load)?;
        let mut base = 0;
        for of_load in &call.loads {
            self.load(of, &task.operands(), &mut machine, (of_load, base)).map_err(load)?;
            base += of_load.all_rows();
        }
        let fault = |fault: Fault| CallError::from(fault).of_step(step);
        let run = machine.run(call.kernel.limit(), &mut ()).map_err(fault)?;
        let rows = call.taken(&machine).map_err(fault)?;
        runner.free(kernel, machine);
        Ok(Called { run, rows })
    }

    /// Writes the rows of a load from row `base` of the input buffer on; operands take turns.
    fn load(
        &self,
        step: &Step,
        operands: &[&Gather],
        machine: &mut Machine<W>,
        (load, base): (&Load, usize),
    ) -> Result<(), LoadError> {
        let count = load.operands.len();
        for (turn, operand) in load.operands.iter().enumerate() {
            let gather = operands[*operand];
            let words = self.words(step, gather, load.vectors.clone());
            let words = spaced(words, gather.length(), load.spare);
            for number in 0..load.rows {
                // Default: the rest of the last row is zeros.
                let word = |index: usize| words.get(number * ROW_WORDS + index).copied().unwrap_or_default();
                let (row, values): (usize, Row<W>) =
                    (base + number * count + turn, std::array::from_fn(word));
                let depth = self.executable.fabric.input_depth;
                // Default: a row beyond all; only the message has it.
                let beyond = |_| LoadError::Input { row: u32::try_from(row).unwrap_or(u32::MAX), depth };
                machine.input.write(row, values).map_err(beyond)?;
            }
        }
        Ok(())
    }
}

impl Call {
    /// The results of each column, out of the output buffer. Errors: words that nobody wrote, when that is asked.
    pub(crate) fn taken<W: Word>(&self, machine: &Machine<W>) -> Result<Vec<Vec<W>>, Fault> {
        let columns = self.results.iter().zip(&self.kernel.bases);
        columns.map(|(results, bases)| taken(machine, results, bases)).collect()
    }
}

impl Call {
    /// The rows of the output buffer with its results, as they are taken.
    pub(crate) fn output_lines(&self) -> impl Iterator<Item = usize> {
        let columns = self.results.iter().zip(&self.kernel.bases);
        columns.flat_map(|(results, bases)| (bases.output..).take(results.count.div_ceil(ROW_WORDS)))
    }
}

fn taken<W: Word>(machine: &Machine<W>, results: &Results, bases: &Bases) -> Result<Vec<W>, Fault> {
    let mut words = Vec::new();
    for row in (bases.output..).take(results.count.div_ceil(ROW_WORDS)) {
        let count = (results.count - words.len()).min(ROW_WORDS);
        if let Some(fault) = machine.unwritten(row, count) {
            return Err(fault);
        }
        let of_row = machine.output.read(row).expect("a call that ran wrote its results within the buffer");
        words.extend(of_row.into_iter().take(count));
    }
    Ok(words)
}

/// Vectors of `length` words, each followed by zeros.
fn spaced<W: Word>(words: Vec<W>, length: usize, zeros: usize) -> Vec<W> {
    if zeros == 0 {
        return words;
    }
    let vectors = words.chunks(length.max(1));
    vectors
        .flat_map(|vector| vector.iter().copied().chain(std::iter::repeat_n(W::default(), zeros)))
        .collect()
}

/// Puts results into their places, from that of number `first` on.
fn put<W>(result: &mut [W], to: &Place, first: usize, words: impl Iterator<Item = W>) {
    for (number, word) in words.enumerate() {
        result[to.offset + offset(&to.axes, first + number)] = word;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::config::preset;
    use crate::lower::plan::Value;

    #[test]
    fn zeros_follow_each_vector() {
        assert_eq!(spaced(vec![1, 2, 3, 4], 2, 1), [1, 2, 0, 3, 4, 0]);
        assert_eq!(spaced(vec![1, 2, 3, 4], 4, 2), [1, 2, 3, 4, 0, 0]);
        assert_eq!(spaced(vec![1, 2, 3, 4], 2, 0), [1, 2, 3, 4]);
    }

    /// Rows hold 16 words; of the last one only those that are results are taken.
    #[test]
    fn as_many_words_are_taken_as_there_are_results() {
        let fabric = preset("3x1").unwrap();
        let mut machine = Machine::new(&fabric, &crate::Program::default()).unwrap();
        for row in 0..4 {
            machine.output.write(row, std::array::from_fn(|word| (16 * row + word) as i16)).unwrap();
        }
        let bases = Bases { output: 1, ..Bases::default() };
        for count in [1, 15, 16, 17, 20, 32, 33, 48] {
            let words = taken(&machine, &Results { first: 0, count }, &bases).unwrap();
            assert_eq!(words, (16..16 + count as i16).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_value_has_at_most_so_many_elements() {
        let value = |shape| Value { name: "x".to_owned(), shape, fraction: 0 };
        let values =
            vec![value(vec![1 << 20, 1 << 8]), value(vec![(1 << 28) + 1]), value(vec![usize::MAX, 2])];
        let plan = Plan { values, ..Plan::default() };
        let executable = Executable::new(&preset("3x1").unwrap(), plan).unwrap();
        assert_eq!(executable.empty::<i16>(0).unwrap().len(), 1 << 28);
        let message = executable.empty::<i16>(1).unwrap_err().to_string();
        assert_eq!(message, "`x` has 268435457 elements; at most 268435456 are kept");
        assert!(executable.empty::<i16>(2).is_err());
    }

    #[test]
    fn inputs_are_those_of_the_plan() {
        let value = |name: &str, shape| Value { name: name.to_owned(), shape, fraction: 0 };
        let values = vec![value("x", vec![2, 3]), value("y", vec![4])];
        let plan = Plan { values, inputs: vec![0, 1], ..Plan::default() };
        let executable = Executable::new(&preset("3x1").unwrap(), plan).unwrap();
        assert!(executable.run(&[vec![0; 6], vec![0; 4]]).is_ok());
        let refused = |inputs: &[Vec<i16>]| executable.run(inputs).unwrap_err().to_string();
        assert_eq!(refused(&[vec![0; 6]]), "1 inputs are given; there are 2");
        assert_eq!(refused(&[vec![0; 6], vec![0; 3]]), "input `y` is given as 3 elements; it has 4");
    }
}
