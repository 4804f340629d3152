//! [`Runner`]: the driver's work for a sample. It moves elements, fills input buffers, calls
//! kernels and takes results out of output buffers.
//!
//! Calls of a step are independent, so that they may run in parallel.

use std::ops::Range;

use npukit_target::{Phase, UninitMemory};

use crate::config::fabric::{Fabric, ROW_WORDS, Row};
use crate::config::revision::Revision;
use crate::isa::op::DpuMode;
use crate::machine::exec::word::Word;
use crate::machine::fault::Fault;
use crate::machine::{Buffer, LoadError, Machine, Run};
use crate::program::call::{Call, Load, Results};
use crate::program::executable::{CallError, Executable, ExecuteError, MAX_ELEMENTS};
use crate::program::gather::{Gather, Source, offset};
use crate::program::kernels::Bases;
use crate::program::plan::{Place, Plan, Step, Task};

/// Result of running a sample.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SampleRun<W = i16> {
    /// Integers of every computed value, by value index.
    pub values: Vec<Vec<W>>,
    /// Cycles of each step.
    pub cycles: Vec<u64>,
    /// Saturated results of each step: results at an end of the range of words, and sums that
    /// exceeded their accumulator.
    pub saturations: Vec<u64>,
}

impl Executable {
    /// Returns its fabric with another hardware revision.
    pub(crate) fn fabric_of(&self, revision: Revision) -> Fabric {
        let mut fabric = self.fabric.clone();
        fabric.options.revision = revision;
        fabric
    }

    /// Runs a sample: the integers of each input, in the plan's order. The threads of `rayon` share
    /// the work.
    ///
    /// # Errors
    ///
    /// The machine refuses or faults, with the step, or a value is too large.
    pub fn run(&self, inputs: &[Vec<i16>]) -> Result<SampleRun, ExecuteError> {
        Runner::new(self, self.fabric.options.revision, UninitMemory::Zero).run(inputs)
    }

    pub(crate) fn empty<W: Word>(&self, number: usize) -> Result<Vec<W>, ExecuteError> {
        let value = &self.plan.values[number];
        let elements = value.elements();
        if elements > MAX_ELEMENTS {
            return Err(ExecuteError::Size { name: value.name.clone(), elements });
        }
        Ok(vec![W::default(); elements])
    }

    /// Checks that the inputs have as many elements as in the plan.
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

/// Implementation of kernel calls.
pub trait Kernels<W: Word>: Sync {
    /// Performs the calls of a step, with the results that they have one after the other.
    ///
    /// # Errors
    ///
    /// The machine refuses or faults.
    fn calls(&self, calls: &[Filled<'_, W>]) -> Result<Vec<Called<W>>, CallError>;
}

/// Call of a kernel, with its inputs.
pub struct Filled<'a, W> {
    /// Rows of its inputs and results.
    pub call: &'a Call,
    /// Index of the kernel.
    pub kernel: usize,
    /// Function that fills the input buffer.
    pub fill: Box<Fill<'a, W>>,
}

type Fill<'a, W> = dyn Fn(&mut Buffer<W>) -> Result<(), LoadError> + Sync + 'a;

/// Runs samples one after the other, with kernels on fabrics or another implementation.
pub struct Runner<'a, W: Word = i16> {
    executable: &'a Executable,
    kernels: Box<dyn Kernels<W> + 'a>,
}

impl<'a, W: Word> Runner<'a, W> {
    /// Creates a runner with another implementation of kernel calls.
    pub fn with(executable: &'a Executable, kernels: Box<dyn Kernels<W> + 'a>) -> Self {
        Self { executable, kernels }
    }

    /// Runs a sample: the integers of each input, in the plan's order. The threads of `rayon` share
    /// the work.
    ///
    /// # Errors
    ///
    /// The machine refuses or faults, a value is too large, or the inputs do not match the plan.
    pub fn run(&self, inputs: &[Vec<W>]) -> Result<SampleRun<W>, ExecuteError> {
        let Executable { plan, calls, .. } = self.executable;
        self.executable.check_inputs(inputs)?;
        let values = vec![Vec::new(); plan.values.len()];
        let mut driver = Driver { executable: self.executable, values };
        for (&number, words) in plan.inputs.iter().zip(inputs) {
            driver.values[number].clone_from(words);
        }
        let (mut cycles, mut saturations, of_graph) = (Vec::new(), Vec::new(), plan.of_graph());
        let phase = Phase::detail("run steps", plan.steps.len());
        for (step, calls) in plan.steps.iter().zip(calls) {
            let mut result = self.executable.empty(step.result)?;
            let of_step = driver.step(self, step, calls, &mut result)?;
            cycles.push(of_step.cycles);
            saturations.push(if step.saturates { 0 } else { of_step.saturations });
            if step.result < of_graph {
                result.iter_mut().for_each(|word| *word = word.made());
            }
            driver.values[step.result] = result;
            phase.advance();
        }
        Ok(SampleRun { values: driver.values, cycles, saturations })
    }
}

/// Run in progress.
pub(crate) struct Driver<'a, W: Word> {
    pub executable: &'a Executable,
    /// Words of the values computed so far.
    pub values: Vec<Vec<W>>,
}

/// Call with its task and the index of its kernel.
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

/// Result of a kernel call.
pub struct Called<W> {
    /// Cycles, and number of saturated sums.
    pub run: Run,
    /// Results of each column.
    pub rows: Vec<Vec<W>>,
}

impl<W: Word> Driver<'_, W> {
    /// Puts the words of some vectors of a step, each followed by `zeros` zeros.
    #[inline]
    fn words(&self, step: &Step, gather: &Gather, vectors: Range<usize>, zeros: usize, put: impl FnMut(W)) {
        match &gather.source {
            Source::Value(number) => gather.words(&self.values[*number], vectors, zeros, |word| word, put),
            Source::Constant(words) if step.saturates => gather.words(words, vectors, zeros, W::limit, put),
            Source::Constant(words) => gather.words(words, vectors, zeros, W::constant, put),
        }
    }

    /// Executes moves and calls in order; adjacent calls are performed together.
    fn step(
        &self,
        runner: &Runner<'_, W>,
        step: &Step,
        calls: &[Vec<(Call, usize)>],
        result: &mut [W],
    ) -> Result<Spent, ExecuteError> {
        let (mut spent, mut jobs) = (Spent::default(), Vec::new());
        for (task, calls) in step.tasks.iter().zip(calls) {
            if matches!(task, Task::Fill(_) | Task::Move { .. }) {
                self.perform(runner, step, &std::mem::take(&mut jobs), result, &mut spent)?;
            }
            self.moved(step, task, result);
            jobs.extend(calls.iter().map(|(call, kernel)| Job { task, call, kernel: *kernel }));
        }
        self.perform(runner, step, &jobs, result, &mut spent)?;
        Ok(spent)
    }

    /// Executes the driver's own part of a task: moving elements and filling values.
    pub fn moved(&self, step: &Step, task: &Task, result: &mut [W]) {
        match task {
            Task::Fill(word) => result.fill(W::constant(*word)),
            Task::Move { from, to, shift } => {
                let mut words = Vec::new();
                self.words(step, from, 0..from.count(), 0, |word| words.push(word.shifted(*shift)));
                put(result, to, 0, words.into_iter());
            }
            Task::Vectors { .. } | Task::Dots { .. } | Task::Nest { .. } => {}
        }
    }

    /// Executes all calls, and puts their results.
    fn perform(
        &self,
        runner: &Runner<'_, W>,
        step: &Step,
        jobs: &[Job<'_>],
        result: &mut [W],
        spent: &mut Spent,
    ) -> Result<(), ExecuteError> {
        let filled = |&Job { task, call, kernel }| {
            let fill = move |input: &mut Buffer<W>| self.fill(step, task, call, input);
            Filled { call, kernel, fill: Box::new(fill) }
        };
        let calls: Vec<_> = jobs.iter().map(filled).collect();
        let done = runner.kernels.calls(&calls).map_err(|error| error.of_step(&step.name))?;
        for (job, Called { run, rows }) in jobs.iter().zip(done) {
            spent.cycles += run.cycles;
            spent.saturations += run.saturated_sums;
            // For `mac`, the machine reports whether a sum saturated. For other modes, a result at
            // the end of the range may have saturated.
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

    /// Fills the input buffer for a call.
    ///
    /// # Errors
    ///
    /// A row is outside the buffer.
    pub fn fill(
        &self,
        step: &Step,
        task: &Task,
        call: &Call,
        input: &mut Buffer<W>,
    ) -> Result<(), LoadError> {
        let (operands, mut base) = (task.operands(), 0);
        for load in &call.loads {
            self.load(step, load, &operands, input, base)?;
            base += load.all_rows();
        }
        Ok(())
    }

    /// Writes the rows of a load, starting at row `base` of the input buffer. Rows of operands
    /// alternate.
    fn load(
        &self,
        step: &Step,
        load: &Load,
        operands: &[&Gather],
        input: &mut Buffer<W>,
        base: usize,
    ) -> Result<(), LoadError> {
        let (count, depth) = (load.operands.len(), self.executable.fabric.input_depth);
        let last = base + load.all_rows().saturating_sub(1);
        let rows = input.rows_mut(base..base + load.all_rows());
        // Default: a row number beyond all rows, used only in the message.
        let beyond = |_| LoadError::Input { row: u32::try_from(last).unwrap_or(u32::MAX), depth };
        let rows = rows.map_err(beyond)?;
        for (turn, operand) in load.operands.iter().enumerate() {
            let gather = operands[*operand];
            let mut line = Line { rows: &mut *rows, row: turn, count, words: 0 };
            self.words(step, gather, load.vectors.clone(), load.spare, |word| line.put(word));
            line.end();
        }
        Ok(())
    }
}

/// Every n-th row, filled word by word.
struct Line<'a, W> {
    rows: &'a mut [Row<W>],
    row: usize,
    count: usize,
    /// Number of words written to the row.
    words: usize,
}

impl<W: Word> Line<'_, W> {
    #[inline]
    fn put(&mut self, word: W) {
        self.rows[self.row][self.words] = word;
        self.words += 1;
        if self.words == ROW_WORDS {
            (self.row, self.words) = (self.row + self.count, 0);
        }
    }

    /// Fills the rest with zeros.
    fn end(mut self) {
        while self.row < self.rows.len() {
            self.put(W::default());
        }
    }
}

impl Call {
    /// Reads the results of each column from the output buffer. Errors: unwritten words, if they
    /// are tracked.
    pub(crate) fn taken<W: Word>(&self, machine: &Machine<W>) -> Result<Vec<Vec<W>>, Fault> {
        let columns = self.results.iter().zip(&self.kernel.bases);
        columns.map(|(results, bases)| taken(machine, results, bases)).collect()
    }
}

impl Call {
    /// Rows of the output buffer with its results, in the order in which they are read.
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

/// Stores results at their positions, starting with result `first`.
pub(crate) fn put<W>(result: &mut [W], to: &Place, first: usize, words: impl Iterator<Item = W>) {
    for (number, word) in words.enumerate() {
        result[to.offset + offset(&to.axes, first + number)] = word;
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::config::preset;
    use crate::program::plan::Value;

    /// Rows hold 16 words; of the last row, only results are taken.
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
        assert_eq!(message, "`x` has 268435457 elements; at most 268435456 are supported");
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
        assert_eq!(refused(&[vec![0; 6]]), "1 inputs are given; the plan has 2");
        assert_eq!(refused(&[vec![0; 6], vec![0; 3]]), "input `y` has 3 elements; the plan needs 4");
    }
}
