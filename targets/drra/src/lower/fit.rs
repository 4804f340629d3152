//! [`unfit`]: what kernels of ours do not do, because no run on the released circuit has shown it.

use std::collections::BTreeMap;

use crate::component::Component;
use crate::fabric::{Cell, Fabric};
use crate::op::{ActMode, Op, ResourceOp};
use crate::program::Program;

/// Words that each cell of a shipped fabric can be loaded with.
const MOST_WORDS: usize = 64;
/// Levels of a port.
const MOST_LEVELS: usize = 4;

/// Everything in a program that is beyond that, in words; nothing for fabrics that are not the released circuit.
pub(super) fn unfit(fabric: &Fabric, program: &Program) -> Vec<String> {
    let Ok(ops) = program.decode(fabric) else { return Vec::new() };
    if !fabric.options.revision.is_released() {
        return Vec::new();
    }
    let cells = fabric.places().zip(&fabric.cells).zip(&ops);
    let found = cells.flat_map(|((place, cell), ops)| {
        of_cell(cell, ops).into_iter().map(move |reason| format!("cell {place}: {reason}"))
    });
    found.collect()
}

fn of_cell(cell: &Cell, ops: &[Op]) -> Vec<String> {
    let mut found = Vec::new();
    if ops.len() > MOST_WORDS {
        found.push(format!("{} words; it can be loaded with {MOST_WORDS}", ops.len()));
    }
    let mut levels: BTreeMap<(u8, u8), usize> = BTreeMap::new();
    for (pc, op) in ops.iter().enumerate() {
        let wrong = match *op {
            Op::Brn { .. } | Op::Calc { .. } | Op::Act { mode: ActMode::Map, .. } => true,
            Op::Resource { slot, op } => of_port(cell.component_at(slot), slot, op, &mut levels),
            _ => false,
        };
        found.extend(
            wrong.then(|| format!("instruction {pc} ({}) has not been seen to work", op.name_in(cell))),
        );
    }
    found
}

fn of_port(
    component: Option<Component>,
    slot: u8,
    op: ResourceOp,
    levels: &mut BTreeMap<(u8, u8), usize>,
) -> bool {
    match op {
        ResourceOp::Repx { .. } | ResourceOp::Trans { .. } => true,
        ResourceOp::Open { port, dynamic, base, .. } => {
            levels.insert((slot, port), 0);
            dynamic || (base != 0 && component == Some(Component::Rf))
        }
        ResourceOp::Rep { port, .. } => {
            let count = levels.entry((slot, port)).or_default();
            *count += 1;
            *count > MOST_LEVELS
        }
        _ => false,
    }
}
