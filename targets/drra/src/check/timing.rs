//! [`lints_in_time`]: ports that are configured or started while they run.
//!
//! What a sequencer does does not depend on data, so that it can be followed to its end without any.

use std::collections::BTreeSet;

use super::lint::Lint;
use crate::exec::sequencer::{Notice, execute};
use crate::fabric::{Cell, Options, Resource};
use crate::op::Op;
use crate::state::CellState;

/// Instructions that a cell is followed for; what goes on longer is hardly different later.
const MOST_INSTRUCTIONS: usize = 1 << 16;

/// What is hardly meant of a cell's program because of when it is, by instruction, each once.
pub(super) fn lints_in_time(cell: &Cell, options: Options, ops: &[Op]) -> Vec<(usize, Lint)> {
    let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
    let mut state = CellState::new(&without_memory(cell), ops.to_vec());
    for _ in 0..MOST_INSTRUCTIONS {
        let (pc, cycle) = (state.sequencer.pc, state.sequencer.next);
        state.ports.retire(cycle);
        state.sequencer.raise(cycle);
        let runs = state.sequencer.raised & state.ports.active;
        let mut tell = |lint| {
            if seen.insert(pc) {
                found.push((pc, lint));
            }
        };
        if runs != 0 {
            let number = runs.trailing_zeros() as u8;
            tell(Lint::Runs { slot: number / 4, port: number % 4, cycle });
        }
        match execute(&mut state, cell, options, cycle) {
            Ok(Some(Notice::Early(fault))) => tell(Lint::InCycle { cycle, fault }),
            Ok(_) => {}
            Err(fault) => {
                tell(Lint::InCycle { cycle, fault });
                break;
            }
        }
        if state.sequencer.halted.is_some() {
            break;
        }
    }
    found
}

/// The cell, whose memories take no space.
fn without_memory(cell: &Cell) -> Cell {
    let empty = |part: &Resource| Resource { rows: 0, ..part.clone() };
    Cell { resources: cell.resources.iter().map(empty).collect(), ..cell.clone() }
}
