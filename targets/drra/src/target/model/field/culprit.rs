//! [`written`]: finds where a wrong element of a step's result was written.
//!
//! A fabric's behavior in a call does not depend on data: the kernel is called again with zeros,
//! and observed.

use npukit_numeric::Element;
use npukit_target::Culprit;

use crate::config::column::Column;
use crate::config::fabric::{Place, ROW_WORDS};
use crate::isa::op::{Op, ResourceOp};
use crate::isa::program::At;
use crate::machine::Observer;
use crate::machine::exec::iosram::OUTPUT_BUFFER;
use crate::program::call::Call;
use crate::program::executable::Executable;
use crate::program::gather::offset;
use crate::program::plan::{Step, Task};

/// Returns the call that wrote an element of a step's result, and the instruction that wrote the
/// row of the output buffer. For a step of the driver, returns the value.
pub(super) fn written(executable: &Executable, step: usize, place: usize, value: Element) -> Culprit {
    let of_step = &executable.plan.steps[step];
    let layer = Some(of_step.name.clone());
    let Some(BufferResult { call, kernel, column, row, lane, number }) = call_of(executable, step, place)
    else {
        let memory = executable.plan.values[of_step.result].name.clone();
        return Culprit { layer, memory, address: place as u64, value, ..Culprit::default() };
    };
    let part = executable.columns.get(column);
    let place = part.map(|part| part.bottom);
    let seen = part.and_then(|part| seen(executable, (kernel, call), part, row));
    let before: usize =
        executable.kernels.iter().take(kernel).map(|ready| ready.compiled.program.instructions()).sum();
    let program = &executable.kernels[kernel].compiled.program;
    let instruction = seen.zip(place).map(|((_, pc), place)| before + program.index(At { place, pc }));
    let memory = described(number, kernel, place, seen);
    Culprit { segment: None, instruction, layer, memory, address: row as u64, lane: lane as u64, value }
}

/// Describes the memory.
fn described(call: usize, kernel: usize, cell: Option<Place>, seen: Option<(u64, usize)>) -> String {
    let cell = cell.map_or_else(String::new, |cell| format!(", cell {cell}"));
    let cycle =
        seen.map_or_else(|| ", which does not write it".to_owned(), |(cycle, _)| format!(", cycle {cycle}"));
    format!("output buffer, call {call} of the step (kernel {kernel}{cell}{cycle})")
}

/// Result in the output buffer.
struct BufferResult<'a> {
    call: &'a Call,
    kernel: usize,
    column: usize,
    row: usize,
    lane: usize,
    /// Index of the call in its step.
    number: usize,
}

/// Returns the call that writes an element of the step's result.
fn call_of(executable: &Executable, step: usize, place: usize) -> Option<BufferResult<'_>> {
    let Step { tasks, .. } = &executable.plan.steps[step];
    let calls = executable.calls.get(step)?;
    // The last task that writes the place determines its content.
    let (task, result) =
        tasks.iter().enumerate().rev().find_map(|(task, of)| Some((task, result_at(of, place)?)))?;
    let earlier: usize = calls.iter().take(task).map(Vec::len).sum();
    calls.get(task)?.iter().enumerate().find_map(|(number, (call, kernel))| {
        let (column, results) = call
            .results
            .iter()
            .enumerate()
            .find(|(_, results)| (results.first..results.first + results.count).contains(&result))?;
        let at = result - results.first;
        let row = call.kernel.bases.get(column)?.output + at / ROW_WORDS;
        let (lane, number) = (at % ROW_WORDS, earlier + number);
        Some(BufferResult { call, kernel: *kernel, column, row, lane, number })
    })
}

/// Returns the index of the result that a task stores at a position.
fn result_at(task: &Task, place: usize) -> Option<usize> {
    let to = task.to()?;
    (0..to.count()).rev().find(|&number| to.offset + offset(&to.axes, number) == place)
}

/// Returns the last cycle in which a column writes a row of the output buffer, and the instruction
/// with its address.
fn seen(
    executable: &Executable,
    (kernel, call): (usize, &Call),
    column: &Column,
    row: usize,
) -> Option<(u64, usize)> {
    let cell = executable.fabric.index(column.bottom)?;
    let mut watch = Watch { cell, slot: column.output, row, pc: None, seen: None };
    executable.watch(kernel, call, &mut watch).ok()?;
    watch.seen
}

/// Observer of the port of a column's output memory.
struct Watch {
    cell: usize,
    slot: u8,
    row: usize,
    /// Index of the last instruction with an address for the port.
    pc: Option<usize>,
    seen: Option<(u64, usize)>,
}

impl Observer for Watch {
    fn issue(&mut self, _cycle: u64, cell: usize, pc: usize, op: &Op) {
        let Op::Resource { slot, op: ResourceOp::Dsu { port: OUTPUT_BUFFER, .. } } = op else { return };
        if (cell, *slot) == (self.cell, self.slot) {
            self.pc = Some(pc);
        }
    }

    fn address(&mut self, cycle: u64, cell: usize, slot: u8, port: u8, address: u32) {
        let is_it = (cell, slot, port) == (self.cell, self.slot, OUTPUT_BUFFER);
        if is_it && address as usize == self.row {
            self.seen = self.pc.map(|pc| (cycle, pc));
        }
    }
}
