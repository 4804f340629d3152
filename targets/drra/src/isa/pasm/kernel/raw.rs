//! [`block`]: epochs of raw operations. Their instructions are emitted unchanged.

use super::block::{Block, wait};
use super::rule;
use crate::config::component::Component;
use crate::config::fabric::{Fabric, Place};
use crate::isa::Isa;
use crate::isa::op::Op;
use crate::isa::pasm::PasmError;
use crate::isa::pasm::ast::{Epoch, Instruction, Operation, OperationKind, Value, find};
use crate::isa::pasm::epoch::written;

/// Returns the instructions of an epoch of raw operations.
///
/// # Errors
///
/// All errors of the epoch.
pub fn block(fabric: &Fabric, epoch: &Epoch) -> Result<Block, Vec<PasmError>> {
    let (mut block, mut errors) = (Block::default(), Vec::new());
    let help = "move it into an epoch of its own";
    for constraint in &epoch.constraints {
        errors.push(rule("raw instructions have no constraints", constraint.span, help));
    }
    for operation in &epoch.operations {
        if operation.kind != OperationKind::Raw {
            errors.push(rule("raw cannot be mixed with rop and cop in an epoch", operation.span, help));
            continue;
        }
        match ops(fabric, operation) {
            Ok((place, ops)) => block.cells.entry(place).or_default().extend(ops),
            Err(found) => errors.extend(found),
        }
    }
    align(&mut block);
    if errors.is_empty() { Ok(block) } else { Err(errors) }
}

/// Appends waits to the shorter cells, if all lengths are known.
fn align(block: &mut Block) {
    let cycles: Option<Vec<i64>> = block.cells.values().map(|ops| ops.iter().map(cycles).sum()).collect();
    // Default: an epoch without cells takes no cycles.
    block.cycles = cycles.as_ref().map(|all| all.iter().copied().max().unwrap_or(0));
    if let (Some(own), Some(all)) = (cycles, block.cycles) {
        block.cells.values_mut().zip(own).for_each(|(ops, own)| wait_separately(ops, all - own));
    }
}

/// Appends waits like [`wait`], without changing the last instruction.
fn wait_separately(ops: &mut Vec<Op>, cycles: i64) {
    let mut more = Vec::new();
    wait(&mut more, cycles);
    ops.extend(more);
}

/// Cycles of an instruction; `None` if it ends or changes the control flow.
const fn cycles(op: &Op) -> Option<i64> {
    match op {
        Op::Halt | Op::Brn { .. } | Op::Wait { events: true, .. } => None,
        Op::Wait { cycle, .. } => Some(*cycle as i64 + 1),
        _ => Some(1),
    }
}

fn ops(fabric: &Fabric, operation: &Operation) -> Result<(Place, Vec<Op>), Vec<PasmError>> {
    let number = |name: &str| match find(&operation.parameters, name).map(|parameter| &parameter.value) {
        Some(Value::Integer(value)) => usize::try_from(*value).ok(),
        _ => None,
    };
    let place = number("row").zip(number("col")).map(|(row, col)| Place { row, col });
    let Some((place, cell)) = place.and_then(|place| Some((place, fabric.cell(place)?))) else {
        let help = format!("the fabric has {} rows and {} columns", fabric.rows, fabric.cols);
        return Err(vec![rule("raw needs the `row` and `col` of a cell", operation.span, &help)]);
    };
    let (mut ops, mut errors) = (Vec::new(), Vec::new());
    for instruction in &operation.instructions {
        let slot = slot(instruction);
        let component = slot.map_or(Some(Component::Sequencer), |slot| cell.component_at(slot));
        // Default: control instructions have no slot; 0 is for the message.
        let number = slot.unwrap_or(0);
        let reason = format!("slot {number} of cell {place} is empty");
        let missing = || rule(&reason, instruction.mnemonic.span, "name the slot of a component");
        match component
            .ok_or_else(missing)
            .and_then(|component| written(Isa::read_by(fabric.options), component, number, instruction))
        {
            Ok(op) => ops.push(op),
            Err(error) => errors.push(error),
        }
    }
    if errors.is_empty() { Ok((place, ops)) } else { Err(errors) }
}

/// Slot of a raw instruction, or `None` for a sequencer instruction.
fn slot(instruction: &Instruction) -> Option<u8> {
    match instruction.parameter("slot").map(|parameter| &parameter.value) {
        // Default: a slot number that no cell has.
        Some(Value::Integer(slot)) => Some(u8::try_from(*slot).unwrap_or(u8::MAX)),
        _ => None,
    }
}
