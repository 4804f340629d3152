//! Checks of a compiled model from files: all indices are valid, and memory and time are within the
//! limits of fabrics.

use std::sync::Arc;

use thiserror::Error;

use crate::config::fabric::{Fabric, ROW_WORDS};
use crate::isa::program::Program;
use crate::machine::Machine;
use crate::program::call::{Call, Load};
use crate::program::executable::{Executable, MAX_ELEMENTS};
use crate::program::gather::{Gather, Source, Tail, last};
use crate::program::kernels::{Kernel, Kind};
use crate::program::plan::{Place, Plan, Task};

/// Maximum number of words of a kernel's operand or result: more than the largest buffer has.
const MAX_WORDS: usize = 1 << 22;
/// Maximum number of operations of a task: stationary vectors times streamed words.
const MAX_WORK: u64 = 1 << 40;

/// Result of a check, with the reason of a failure.
type Checked = Result<(), String>;

fn require(holds: bool, reason: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(reason()) }
}

/// Inconsistency between a task and its tensors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
enum TensorError {
    #[error("a source has index {number}; there are {count} sources")]
    Missing { number: usize, count: usize },
    #[error("value {value} is read before a step computes it")]
    Unmade { value: usize },
    #[error("an operand reaches element {last} of source {number}, which has {elements}")]
    Operand { number: usize, last: usize, elements: usize },
    #[error("an operand has {words} words; at most {MAX_ELEMENTS} are supported")]
    Words { words: usize },
    #[error("the tail of an operand has no words")]
    Tail,
    #[error("{words} words are moved to {places} positions")]
    Move { words: usize, places: usize },
    #[error("its results reach element {last} of value {value}, which has {elements}")]
    Result { value: usize, last: usize, elements: usize },
}

/// Tensors that the operands of a step may use.
struct Tensors<'a> {
    plan: &'a Plan,
    constants: &'a [Arc<[i16]>],
    /// Whether each value is an input or the result of an earlier step.
    is_made: Vec<bool>,
}

impl<'a> Tensors<'a> {
    /// State before the first step. The indices of inputs are checked before.
    fn new(plan: &'a Plan, constants: &'a [Arc<[i16]>]) -> Self {
        let mut is_made = vec![false; plan.values.len()];
        plan.inputs.iter().for_each(|number| is_made[*number] = true);
        Self { plan, constants, is_made }
    }

    /// Number of elements of the tensor that a gather uses. Constants come after all values.
    fn elements(&self, number: usize) -> Result<usize, TensorError> {
        let values = &self.plan.values;
        if let Some(value) = values.get(number) {
            return if self.is_made[number] {
                Ok(value.elements())
            } else {
                Err(TensorError::Unmade { value: number })
            };
        }
        let count = values.len() + self.constants.len();
        let constant = self.constants.get(number - values.len());
        constant.map(|words| words.len()).ok_or(TensorError::Missing { number, count })
    }

    /// Checks that all elements of a gather exist.
    fn gather(&self, gather: &Gather) -> Result<(), TensorError> {
        // In plans from files, sources name constants by index.
        let Source::Value(number) = gather.source else { return Ok(()) };
        let elements = self.elements(number)?;
        let Gather { offset, vectors, elements: of_vector, .. } = gather;
        let axes = vectors.iter().chain(of_vector);
        let words = axes.fold(1_usize, |all, axis| all.saturating_mul(axis.0.max(1)));
        match last(*offset, &[vectors, of_vector]) {
            _ if words > MAX_ELEMENTS => Err(TensorError::Words { words }),
            _ if gather.tail == Tail::Each(Vec::new()) => Err(TensorError::Tail),
            Some(last) if last >= elements => Err(TensorError::Operand { number, last, elements }),
            _ => Ok(()),
        }
    }

    /// Checks that a task's operands and results are within their tensors.
    fn task(&self, task: &Task, result: usize) -> Result<(), TensorError> {
        task.operands().into_iter().try_for_each(|operand| self.gather(operand))?;
        if let Task::Move { from, to, .. } = task {
            let (words, places) = (from.count() * from.length(), to.count());
            if words != places {
                return Err(TensorError::Move { words, places });
            }
        }
        let (elements, to) = (self.plan.values[result].elements(), task.to());
        match to.and_then(|to| last(to.offset, &[&to.axes])) {
            Some(last) if last >= elements => Err(TensorError::Result { value: result, last, elements }),
            _ => Ok(()),
        }
    }
}

/// Checks the plan, in which constants have indices.
pub(super) fn plan(plan: &Plan, constants: &[Arc<[i16]>]) -> Checked {
    let values = plan.values.len();
    let mut elements = 0_usize;
    for (number, value) in plan.values.iter().enumerate() {
        elements = elements.saturating_add(value.elements());
        require(elements <= MAX_ELEMENTS, || {
            format!("values up to {number}, `{}`, have more than {MAX_ELEMENTS} elements", value.name)
        })?;
    }
    let mut ports = plan.inputs.iter().chain(&plan.outputs);
    if let Some(number) = ports.find(|number| **number >= values) {
        return Err(format!("an input or output is value {number}; the plan has {values} values"));
    }
    let mut tensors = Tensors::new(plan, constants);
    for (index, step) in plan.steps.iter().enumerate() {
        let at = |reason: String| format!("step {index}, `{}`: {reason}", step.name);
        let exists = step.result < values;
        require(exists, || at(format!("its result is value {}; the plan has {values} values", step.result)))?;
        for (number, task) in step.tasks.iter().enumerate() {
            let of_task = |reason: String| at(format!("task {number}: {reason}"));
            tensors.task(task, step.result).map_err(|error| of_task(error.to_string()))?;
            require(task.work() <= MAX_WORK, || of_task(format!("more than {MAX_WORK} operations")))?;
        }
        tensors.is_made[step.result] = true;
    }
    let unmade = plan.outputs.iter().find(|number| !tensors.is_made[**number]);
    unmade.map_or(Ok(()), |number| Err(format!("no step computes output {number}")))
}

/// Checks a kernel's sizes.
pub(super) fn kernel(fabric: &Fabric, kernel: &Kernel) -> Checked {
    let sizes = match &kernel.kind {
        Kind::Stream(stream) => [stream.words, stream.period],
        Kind::Nest(nest) => [nest.results.saturating_mul(nest.period), nest.period],
    };
    let is_spare = matches!(&kernel.kind, Kind::Stream(stream) if stream.spare >= stream.period.max(1));
    require(!is_spare, || "all words of a result are spare".to_owned())?;
    let largest = sizes[0].max(sizes[1]);
    require(largest <= MAX_WORDS, || format!("{largest} words; at most {MAX_WORDS} are supported"))?;
    let bases = kernel.bases.len();
    require(bases <= fabric.cols, || format!("{bases} columns; the fabric has {}", fabric.cols))
}

/// Checks that a kernel's program runs and takes as long as the plan states.
pub(super) fn program(fabric: &Fabric, kernel: &Kernel, program: &Program, cycles: u64) -> Checked {
    let mut machine = Machine::new(fabric, program).map_err(|error| error.to_string())?;
    let run = machine.run(kernel.limit(), &mut ()).map_err(|fault| fault.to_string())?;
    require(run.cycles == cycles, || format!("takes {} cycles; the plan has {cycles}", run.cycles))
}

/// Checks the calls of every task.
pub(super) fn calls(executable: &Executable) -> Checked {
    let Executable { fabric, plan, calls, .. } = executable;
    let steps = plan.steps.len();
    require(calls.len() == steps, || format!("calls of {} steps; the plan has {steps}", calls.len()))?;
    for (index, (step, calls)) in plan.steps.iter().zip(calls).enumerate() {
        let at = |reason: String| format!("step {index}, `{}`: {reason}", step.name);
        let tasks = step.tasks.len();
        require(calls.len() == tasks, || at(format!("calls of {} tasks; it has {tasks}", calls.len())))?;
        for (task, calls) in step.tasks.iter().zip(calls) {
            for (number, (call, _)) in calls.iter().enumerate() {
                self::call(fabric, task, call).map_err(|reason| at(format!("call {number}: {reason}")))?;
            }
        }
    }
    Ok(())
}

fn call(fabric: &Fabric, task: &Task, call: &Call) -> Checked {
    let operands = task.operands();
    call.loads.iter().try_for_each(|load| self::load(fabric, &operands, load))?;
    let rows = call.loads.iter().fold(0_usize, |rows, load| rows.saturating_add(load.all_rows()));
    let depth = fabric.input_depth;
    require(rows <= depth, || format!("{rows} rows are loaded; the input buffer has {depth}"))?;
    let (results, bases) = (&call.results, &call.kernel.bases);
    require(results.len() == bases.len(), || {
        format!("{} results of {} columns", results.len(), bases.len())
    })?;
    for (results, bases) in results.iter().zip(bases) {
        let last = bases.output.checked_add(results.count.div_ceil(ROW_WORDS));
        let depth = fabric.output_depth;
        require(last.is_some_and(|last| last <= depth), || {
            let (count, row) = (results.count, bases.output);
            format!("{count} results starting at row {row}; the output buffer has {depth}")
        })?;
        let (end, count) = (results.first.saturating_add(results.count), task.to().map_or(0, Place::count));
        require(end <= count, || format!("results up to {end} are taken; the task has {count}"))?;
    }
    Ok(())
}

fn load(fabric: &Fabric, operands: &[&Gather], load: &Load) -> Checked {
    let depth = fabric.input_depth;
    let rows = load.rows.checked_mul(load.operands.len());
    require(rows.is_some_and(|rows| rows <= depth), || {
        let (rows, count) = (load.rows, load.operands.len());
        format!("{rows} rows of {count} operands are loaded; the input buffer has {depth}")
    })?;
    for number in &load.operands {
        let count = operands.len();
        let operand = operands.get(*number);
        let operand = operand.ok_or_else(|| format!("operand {number} is loaded; the task has {count}"))?;
        let (vectors, all) = (&load.vectors, operand.count());
        let exist = vectors.start <= vectors.end && vectors.end <= all;
        require(exist, || format!("vectors {vectors:?} are loaded; the operand has {all}"))?;
        let words = vectors.len().saturating_mul(operand.length().saturating_add(load.spare));
        require(words.div_ceil(ROW_WORDS) <= load.rows && operand.length() <= MAX_WORDS, || {
            format!("{words} words are loaded into {} rows", load.rows)
        })?;
    }
    Ok(())
}
