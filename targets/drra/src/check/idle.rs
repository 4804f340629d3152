//! [`idle`]: instructions that are never executed, and ports that are configured and never started.

use std::collections::{BTreeMap, BTreeSet};

use super::lint::Lint;
use super::timing::{MAX_INSTRUCTIONS, without_memory};
use crate::config::fabric::{Cell, Options};
use crate::isa::op::{Op, ResourceOp};
use crate::machine::exec::sequencer::execute;
use crate::machine::state::CellState;

/// Returns the unused instructions of a cell by index. Control flow does not depend on data, so the
/// sequencer is followed to its `halt`. If it does not halt or faults before, nothing is reported.
pub(super) fn idle(cell: &Cell, options: Options, ops: &[Op]) -> Vec<(usize, Lint)> {
    let empty = without_memory(cell);
    let mut state: CellState = CellState::new(&empty, options, ops.to_vec());
    let (mut executed, mut ports) = (vec![false; ops.len()], Ports::default());
    for _ in 0..MAX_INSTRUCTIONS {
        let (pc, cycle) = (state.sequencer.pc, state.sequencer.next);
        state.ports.retire(cycle);
        state.sequencer.raise(cycle);
        if let Some(executed) = executed.get_mut(pc) {
            *executed = true;
        }
        ports.step(pc, ops.get(pc), state.sequencer.raised);
        if execute(&mut state, cell, options, cycle).is_err() {
            return Vec::new();
        }
        if state.sequencer.halted.is_some() {
            return unreachable(&executed).into_iter().chain(ports.unused()).collect();
        }
    }
    Vec::new()
}

/// Returns one finding per run of unexecuted instructions, at its first. Trailing `halt`s only fill
/// the memory.
fn unreachable(executed: &[bool]) -> Vec<(usize, Lint)> {
    let mut found: Vec<(usize, Lint)> = Vec::new();
    for (pc, _) in executed.iter().enumerate().filter(|(_, executed)| !**executed) {
        match found.last_mut() {
            Some((first, Lint::Unreachable { count })) if *first + *count == pc => *count += 1,
            _ => found.push((pc, Lint::Unreachable { count: 1 })),
        }
    }
    found
}

/// Ports that are configured, and ports that were started.
#[derive(Default)]
struct Ports {
    /// Index of the last configuring instruction, by slot and port.
    configured: BTreeMap<(u8, u8), usize>,
    started: BTreeSet<(u8, u8)>,
}

impl Ports {
    fn step(&mut self, pc: usize, op: Option<&Op>, raised: u64) {
        let raised = (0..64_u8).filter(|number| raised >> number & 1 == 1);
        self.started.extend(raised.map(|number| (number / 4, number % 4)));
        if let Some(Op::Resource { slot, op: op @ (ResourceOp::Dsu { .. } | ResourceOp::Evt { .. }) }) = op
            && let Some(port) = op.port()
        {
            self.configured.insert((*slot, port), pc);
        }
    }

    /// Returns the unused ports. A port that is started at any time is not reported, as it may be
    /// intended.
    fn unused(self) -> impl Iterator<Item = (usize, Lint)> {
        let unused = self.configured.into_iter().filter(move |(port, _)| !self.started.contains(port));
        unused.map(|((slot, port), pc)| (pc, Lint::Unused { slot, port }))
    }
}
