//! [`Runner`]: what a driver does for a sample: it moves elements, fills input buffers, calls kernels and takes
//! results out of output buffers.
//!
//! Calls of a step do not depend on each other, so that fabrics run them in parallel, as many as there are cores.

use std::ops::Range;
use std::sync::{Mutex, PoisonError};

use npukit_target::{Phase, Unset};
use rayon::prelude::*;

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
    /// Its fabric as a revision of the hardware.
    pub(crate) fn fabric_of(&self, revision: Revision) -> Fabric {
        let mut fabric = self.fabric.clone();
        fabric.options.revision = revision;
        fabric
    }

    /// Runs a sample: the integers of each input, in the plan's order. Work is spread over the threads of `rayon`.
    ///
    /// # Errors
    ///
    /// What the machine refuses or faults on, with the step; a value that is too large.
    pub fn run(&self, inputs: &[Vec<i16>]) -> Result<Ran, ExecuteError> {
        Runner::new(self, self.fabric.options.revision, Unset::Zero).run(inputs)
    }

    pub(crate) fn empty<W: Word>(&self, number: usize) -> Result<Vec<W>, ExecuteError> {
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

/// What calls kernels.
pub trait Kernels<W: Word>: Sync {
    /// Calls one, after `fill` has filled the input buffer.
    ///
    /// # Errors
    ///
    /// What the machine refuses or faults on.
    fn call(&self, call: &Call, number: usize, fill: Fill<'_, W>) -> Result<Called<W>, CallError>;
}

/// Fills the input buffer.
pub type Fill<'a, W> = &'a dyn Fn(&mut Buffer<W>) -> Result<(), LoadError>;

/// Runs samples one after the other, with kernels on fabrics or otherwise.
pub struct Runner<'a, W: Word = i16> {
    executable: &'a Executable,
    kernels: Box<dyn Kernels<W> + 'a>,
}

/// Kernels that run on fabrics, cycle by cycle.
struct Fabrics<'a, W: Word> {
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
        let fabric = executable.fabric_of(revision);
        Self::with(executable, Box::new(Fabrics { executable, fabric, unset, machines: Mutex::default() }))
    }

    /// By what calls kernels otherwise.
    pub fn with(executable: &'a Executable, kernels: Box<dyn Kernels<W> + 'a>) -> Self {
        Self { executable, kernels }
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
        Ok(Ran { values: driver.values, cycles, saturations })
    }
}

impl<W: Word> Fabrics<'_, W> {
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

impl<W: Word> Kernels<W> for Fabrics<'_, W> {
    fn call(&self, call: &Call, number: usize, fill: Fill<'_, W>) -> Result<Called<W>, CallError> {
        let mut machine = self.machine(number)?;
        fill(&mut machine.input)?;
        let run = machine.run(call.kernel.limit(), &mut ())?;
        let rows = call.taken(&machine)?;
        self.free(number, machine);
        Ok(Called { run, rows })
    }
}

/// A run on its way.
pub(crate) struct Driver<'a, W: Word> {
    pub executable: &'a Executable,
    /// Words of the values that are there.
    pub values: Vec<Vec<W>>,
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
pub struct Called<W> {
    /// Cycles, and sums that saturated on their way.
    pub run: Run,
    /// The results of each column.
    pub rows: Vec<Vec<W>>,
}

impl<W: Word> Driver<'_, W> {
    /// Puts the words of some vectors of a step, each before so many zeros.
    #[inline]
    fn words(&self, step: &Step, gather: &Gather, vectors: (Range<usize>, usize), put: impl FnMut(W)) {
        match &gather.source {
            Source::Value(number) => gather.words(&self.values[*number], vectors, |word| word, put),
            Source::Constant(words) if step.saturates => gather.words(words, vectors, W::limit, put),
            Source::Constant(words) => gather.words(words, vectors, W::constant, put),
        }
    }

    /// Moves and calls in their order; calls next to each other at once.
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

    /// Does what the driver itself does of a task: it moves elements and fills values.
    pub fn moved(&self, step: &Step, task: &Task, result: &mut [W]) {
        match task {
            Task::Fill(word) => result.fill(W::constant(*word)),
            Task::Move { from, to, shift } => {
                let mut words = Vec::new();
                self.words(step, from, (0..from.count(), 0), |word| words.push(word.shifted(*shift)));
                put(result, to, 0, words.into_iter());
            }
            Task::Vectors { .. } | Task::Dots { .. } | Task::Nest { .. } => {}
        }
    }

    /// All calls, on as many fabrics as there are threads.
    fn perform(
        &self,
        runner: &Runner<'_, W>,
        step: &Step,
        jobs: &[Job<'_>],
        result: &mut [W],
        spent: &mut Spent,
    ) -> Result<(), ExecuteError> {
        let done: Vec<_> = jobs.par_iter().map(|job| self.call(runner, step, *job)).collect();
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
    fn call(&self, runner: &Runner<'_, W>, step: &Step, job: Job<'_>) -> Result<Called<W>, ExecuteError> {
        let Job { task, call, kernel } = job;
        let fill = |input: &mut Buffer<W>| self.fill(step, (task, call), input);
        runner.kernels.call(call, kernel, &fill).map_err(|error| error.of_step(&step.name))
    }

    /// Fills the input buffer for a call.
    ///
    /// # Errors
    ///
    /// A row beyond it.
    pub fn fill(
        &self,
        step: &Step,
        (task, call): (&Task, &Call),
        input: &mut Buffer<W>,
    ) -> Result<(), LoadError> {
        let (operands, mut base) = (task.operands(), 0);
        for load in &call.loads {
            self.load(step, &operands, input, (load, base))?;
            base += load.all_rows();
        }
        Ok(())
    }

    /// Writes the rows of a load from row `base` of the input buffer on; operands take turns.
    fn load(
        &self,
        step: &Step,
        operands: &[&Gather],
        input: &mut Buffer<W>,
        (load, base): (&Load, usize),
    ) -> Result<(), LoadError> {
        let (count, depth) = (load.operands.len(), self.executable.fabric.input_depth);
        let last = base + load.all_rows().saturating_sub(1);
        let rows = input.rows_mut(base..base + load.all_rows());
        // Default: a row beyond all; only the message has it.
        let beyond = |_| LoadError::Input { row: u32::try_from(last).unwrap_or(u32::MAX), depth };
        let rows = rows.map_err(beyond)?;
        for (turn, operand) in load.operands.iter().enumerate() {
            let gather = operands[*operand];
            let mut line = Line { rows: &mut *rows, row: turn, count, words: 0 };
            self.words(step, gather, (load.vectors.clone(), load.spare), |word| line.put(word));
            line.end();
        }
        Ok(())
    }
}

/// Every so many rows, which are filled word by word.
struct Line<'a, W> {
    rows: &'a mut [Row<W>],
    row: usize,
    count: usize,
    /// Words of the row that are there.
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

    /// The rest is zeros.
    fn end(mut self) {
        while self.row < self.rows.len() {
            self.put(W::default());
        }
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

/// Puts results into their places, from that of number `first` on.
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
