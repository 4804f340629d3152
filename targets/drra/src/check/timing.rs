//! [`lints_in_time`]: ports that are configured or started while they run, and timing-dependent
//! differences between the released circuit and the ISA document.
//!
//! Control flow does not depend on data, so a sequencer can be followed to its end without any. It
//! is followed twice: with the fabric's revision, and as the ISA document describes it.

use std::collections::BTreeSet;

use super::lint::Lint;
use crate::config::fabric::{Cell, Options, Resource};
use crate::config::revision::Revision;
use crate::isa::op::Op;
use crate::machine::agu::Walk;
use crate::machine::exec::sequencer::{Notice, execute};
use crate::machine::fault::FaultKind;
use crate::machine::state::CellState;

/// Instructions executed per cell; longer programs rarely show new findings.
pub(super) const MAX_INSTRUCTIONS: usize = 1 << 16;
/// Number of addresses compared per port.
const MAX_ADDRESSES: usize = 1 << 16;

/// Memory rows that distinguish addresses.
const MAX_ROWS: usize = 1 << 10;

/// Returns the timing-dependent likely mistakes of a cell's program, each once, by instruction.
/// Differences from the ISA document are included unless their reason `is_known` or was found here.
pub(super) fn lints_in_time(cell: &Cell, options: Options, ops: &[Op], is_known: bool) -> Vec<(usize, Lint)> {
    let (mut found, mut seen) = (Vec::new(), BTreeSet::new());
    let empty = without_memory(cell);
    let mut state = CellState::new(&empty, options, ops.to_vec());
    let mut text = Text::new(&empty, options, ops);
    let mut is_known = is_known;
    for _ in 0..MAX_INSTRUCTIONS {
        let (pc, cycle) = (state.sequencer.pc, state.sequencer.next);
        state.ports.retire(cycle);
        state.sequencer.raise(cycle);
        let runs = state.sequencer.raised & state.ports.active;
        let mut report = |lint: Lint| {
            if seen.insert(pc) {
                found.push((pc, lint));
            }
        };
        if runs != 0 {
            let number = runs.trailing_zeros() as u8;
            report(Lint::Runs { slot: number / 4, port: number % 4, cycle });
        }
        match execute(&mut state, cell, options, cycle) {
            Ok(Some(Notice::Early(fault))) => {
                is_known |= options.revision.is_released();
                report(Lint::InCycle { cycle, fault });
            }
            Ok(_) => {}
            Err(fault) => {
                report(Lint::InCycle { cycle, fault });
                break;
            }
        }
        match text.as_mut().map(|text| text.step(&state, cell, pc, cycle)) {
            Some(Ok(None)) | None => {}
            Some(Ok(Some(lint))) => {
                if !is_known {
                    report(lint);
                }
                text = None;
            }
            Some(Err(fault)) => {
                report(Lint::InCycle { cycle, fault });
                text = None;
            }
        }
        if state.sequencer.halted.is_some() {
            break;
        }
    }
    found
}

/// The cell, executed as the ISA document describes it.
struct Text {
    state: CellState,
    options: Options,
}

impl Text {
    /// Returns `None` if the fabric already follows the ISA document.
    fn new(empty: &Cell, options: Options, ops: &[Op]) -> Option<Self> {
        if !options.revision.is_released() {
            return None;
        }
        let options = Options { revision: Revision::Text, ..options };
        Some(Self { state: CellState::new(empty, options, ops.to_vec()), options })
    }

    /// Executes the instruction that `other` has executed, and returns the differences.
    ///
    /// Errors: the instruction cannot be executed.
    fn step(
        &mut self,
        other: &CellState,
        cell: &Cell,
        pc: usize,
        cycle: u64,
    ) -> Result<Option<Lint>, FaultKind> {
        let own = &mut self.state;
        if (own.sequencer.pc, own.sequencer.next) != (pc, cycle) {
            return Ok(None);
        }
        own.ports.retire(cycle);
        own.sequencer.raise(cycle);
        let raised = own.sequencer.raised;
        execute(own, cell, self.options, cycle)?;
        let registers = own.sequencer.regs.iter().zip(&other.sequencer.regs).enumerate();
        if let Some((register, (text, circuit))) = registers.into_iter().find(|(_, (a, b))| a != b) {
            return Ok(Some(Lint::Calc { register, text: *text, circuit: *circuit }));
        }
        let mut started = (0..64_u8).filter(|number| raised >> number & 1 == 1);
        let differs = started.find(|number| !same(own, other, usize::from(*number)));
        Ok(differs.map(|number| Lint::OtherAddresses { slot: number / 4, port: number % 4, cycle }))
    }
}

/// Whether a port has the same remaining addresses in both states.
fn same(a: &CellState, b: &CellState, number: usize) -> bool {
    if (a.ports.active ^ b.ports.active) >> number & 1 == 1 {
        return false;
    }
    let size = i64::from(a.ports.sizes[number].max(1));
    let (mut one, mut other) = (a.ports.walks[number].clone(), b.ports.walks[number].clone());
    for _ in 0..MAX_ADDRESSES {
        let next = |walk: &mut Walk| {
            let cycle = walk.next_cycle();
            walk.take(cycle).map(|address| (cycle, address.rem_euclid(size)))
        };
        match (next(&mut one), next(&mut other)) {
            (None, None) => return true,
            (one, other) if one == other => {}
            _ => return false,
        }
    }
    true
}

/// Returns the cell with small memories, to save space.
pub(super) fn without_memory(cell: &Cell) -> Cell {
    let empty = |part: &Resource| Resource { rows: part.rows.min(MAX_ROWS), ..part.clone() };
    Cell { resources: cell.resources.iter().map(empty).collect(), ..cell.clone() }
}
