//! What must hold of a compiled model that comes from files: numbers are of what there is, and nothing takes more
//! memory or time than fabrics have.

use crate::fabric::{Fabric, ROW_WORDS};
use crate::lower::Executable;
use crate::lower::calls::{Call, Load};
use crate::lower::executable::MOST_ELEMENTS;
use crate::lower::gather::{Axes, Gather};
use crate::lower::kernels::{Kernel, Kind};
use crate::lower::plan::{Place, Plan, Source, Task};
use crate::machine::Machine;
use crate::program::Program;

/// Words of any operand or result of a kernel: more than the largest buffer has.
const MOST_WORDS: usize = 1 << 22;
/// Operations of a task: vectors that stay, times words that stream.
const MOST_WORK: u64 = 1 << 40;

/// What is wrong, in words.
type Checked = Result<(), String>;

fn require(holds: bool, reason: impl FnOnce() -> String) -> Checked {
    if holds { Ok(()) } else { Err(reason()) }
}

/// The plan, in which constants have numbers.
pub(super) fn plan(plan: &Plan, constants: usize) -> Checked {
    let values = plan.values.len();
    let mut elements = 0_usize;
    for (number, value) in plan.values.iter().enumerate() {
        let own = value.shape.iter().try_fold(1_usize, |all, &size| all.checked_mul(size));
        // Default: more than can be counted is more than is legal.
        elements = own.and_then(|own| elements.checked_add(own)).unwrap_or(usize::MAX);
        require(elements <= MOST_ELEMENTS, || {
            format!("values up to {number}, `{}`, have more than {MOST_ELEMENTS} elements", value.name)
        })?;
    }
    let mut ports = plan.inputs.iter().chain(&plan.outputs);
    if let Some(number) = ports.find(|number| **number >= values) {
        return Err(format!("an input or output is value {number}; there are {values}"));
    }
    for (index, step) in plan.steps.iter().enumerate() {
        let at = |reason: String| format!("step {index}, `{}`: {reason}", step.name);
        let exists = step.result < values;
        require(exists, || at(format!("its result is value {}; there are {values}", step.result)))?;
        for (number, task) in step.tasks.iter().enumerate() {
            self::task(task, values + constants).map_err(|reason| at(format!("task {number}: {reason}")))?;
        }
    }
    Ok(())
}

fn task(task: &Task, sources: usize) -> Checked {
    task.operands().into_iter().try_for_each(|operand| gather(operand, sources))?;
    if let Some(Place { offset, axes }) = task.to() {
        require(reaches(*offset, &[axes]), || format!("its results reach beyond {MOST_ELEMENTS} elements"))?;
    }
    require(task.work() <= MOST_WORK, || format!("more than {MOST_WORK} operations"))
}

fn gather(gather: &Gather, sources: usize) -> Checked {
    let Source::Value(number) = gather.source else { return Ok(()) };
    require(number < sources, || format!("a source is number {number}; there are {sources}"))?;
    let Gather { offset, vectors, elements, .. } = gather;
    let words = vectors.iter().chain(elements).try_fold(1_usize, |all, axis| all.checked_mul(axis.0.max(1)));
    let is_small = words.is_some_and(|words| words <= MOST_ELEMENTS);
    require(is_small && reaches(*offset, &[vectors, elements]), || {
        format!("an operand reaches beyond {MOST_ELEMENTS} elements")
    })
}

/// Whether the last place of axes is among the elements that are kept.
fn reaches(offset: usize, axes: &[&Axes]) -> bool {
    let last = axes.iter().copied().flatten().try_fold(offset, |end, &(size, stride)| {
        end.checked_add(size.saturating_sub(1).checked_mul(stride)?)
    });
    last.is_some_and(|last| last <= MOST_ELEMENTS)
}

/// A kernel's sizes.
pub(super) fn kernel(fabric: &Fabric, kernel: &Kernel) -> Checked {
    let sizes = match &kernel.kind {
        Kind::Stream(stream) => [stream.words, stream.period],
        Kind::Nest(nest) => [nest.results.saturating_mul(nest.period), nest.period],
    };
    let is_spare = matches!(&kernel.kind, Kind::Stream(stream) if stream.spare >= stream.period.max(1));
    require(!is_spare, || "no word of a result counts".to_owned())?;
    let largest = sizes[0].max(sizes[1]);
    require(largest <= MOST_WORDS, || format!("{largest} words; at most {MOST_WORDS} are"))?;
    let bases = kernel.bases.len();
    require(bases <= fabric.cols, || format!("{bases} columns; the fabric has {}", fabric.cols))
}

/// A kernel's program: it runs, and takes as long as the plan says.
pub(super) fn program(fabric: &Fabric, kernel: &Kernel, program: &Program, cycles: u64) -> Checked {
    let mut machine = Machine::new(fabric, program).map_err(|error| error.to_string())?;
    let run = machine.run(kernel.limit(), &mut ()).map_err(|fault| fault.to_string())?;
    require(run.cycles == cycles, || format!("takes {} cycles; the plan says {cycles}", run.cycles))
}

/// The calls of every task.
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
        let fits = last.is_some_and(|last| last <= depth) && results.first <= MOST_ELEMENTS;
        require(fits, || {
            let (count, row) = (results.count, bases.output);
            format!("{count} results from row {row} on; the output buffer has {depth}")
        })?;
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
        let operand = operand.ok_or_else(|| format!("operand {number} is loaded; there are {count}"))?;
        let (vectors, all) = (&load.vectors, operand.count());
        let exist = vectors.start <= vectors.end && vectors.end <= all;
        require(exist, || format!("vectors {vectors:?} are loaded; there are {all}"))?;
        let words = vectors.len().saturating_mul(operand.length().saturating_add(load.spare));
        require(words.div_ceil(ROW_WORDS) <= load.rows && operand.length() <= MOST_WORDS, || {
            format!("{words} words are loaded into {} rows", load.rows)
        })?;
    }
    Ok(())
}
