//! Likely mistakes in the instructions of cells, found without running them: [`lints`].

use std::collections::BTreeMap;

use npukit_target::Severity;

use crate::check::circuit::of_circuit;
use crate::check::lint::Lint;
use crate::check::timing::lints_in_time;
use crate::config::component::Component;
use crate::config::fabric::{Cell, Fabric};
use crate::config::revision::Revision;
use crate::isa::op::{ActMode, Op, ResourceOp, Transfer};
use crate::isa::program::At;

/// Returns the likely mistakes of a program; `ops` holds the instructions of each cell, in fabric
/// order.
pub fn lints(fabric: &Fabric, ops: &[Vec<Op>]) -> Vec<(At, Lint)> {
    let mut found = Vec::new();
    for ((place, cell), ops) in fabric.places().zip(&fabric.cells).zip(ops) {
        let mut lints = lints_of_text(cell, fabric.options.revision, ops);
        let is_known =
            lints.iter().any(|(_, lint)| lint.severity(fabric.options.revision) == Severity::Error);
        lints.extend(lints_in_time(cell, fabric.options, ops, is_known));
        lints.sort_by_key(|(pc, _)| *pc);
        found.extend(lints.into_iter().map(|(pc, lint)| (At { place, pc }, lint)));
    }
    found
}

/// Returns the likely mistakes in a cell's instructions that do not depend on timing.
pub(crate) fn lints_of_text(cell: &Cell, revision: Revision, ops: &[Op]) -> Vec<(usize, Lint)> {
    let (mut found, mut order) = (Vec::new(), Order::default());
    for (pc, op) in ops.iter().enumerate() {
        // The order of configurations matters only in hardware, so the document's reading needs no
        // lint.
        let of_order = if revision.is_seed() { None } else { order.lint(cell, *op) };
        let circuit = if revision.is_released() { of_circuit(cell, *op) } else { Vec::new() };
        let of_text = alone(cell, ops.get(pc + 1), *op).into_iter();
        let of_seed = if revision.is_seed() { of_seed(cell, *op) } else { None };
        found.extend(of_text.chain(of_seed).chain(circuit).chain(of_order).map(|lint| (pc, lint)));
    }
    found
}

/// Returns the lint of one instruction, given the next one.
pub(crate) fn alone(cell: &Cell, next: Option<&Op>, op: Op) -> Option<Lint> {
    match op {
        Op::Act { mode: ActMode::Contiguous, ports, param } => {
            let ports = (0..16).filter(|port| ports >> port & 1 == 1);
            let mut raised = ports.map(|port| (param.saturating_add(port / 4), port % 4));
            let (slot, port) = raised.find(|(slot, port)| !has_port(cell, *slot, *port))?;
            Some(Lint::NoPort { slot, port })
        }
        Op::Calc { dynamic: true, operand2, .. } if operand2 > 15 => {
            Some(Lint::Register { field: "operand2", register: operand2.into() })
        }
        Op::Resource { op: ResourceOp::Dsu { dynamic: true, base, .. }, .. } if base > 15 => {
            Some(Lint::Register { field: "init_addr", register: base })
        }
        Op::Resource { slot, op: ResourceOp::Rep { iter: 0, .. } } => {
            let extended = |next: &Op| match *next {
                Op::Resource { slot: other, op: ResourceOp::Repx { iter, .. } } => other == slot && iter != 0,
                _ => false,
            };
            (!next.is_some_and(extended)).then_some(Lint::NoTimes)
        }
        Op::Resource { op: ResourceOp::Swb { source, target, .. }, .. } => {
            let lacks = |slot: u8| match cell.resource_at(slot) {
                Some(part) => !matches!(part.component, Component::Rf | Component::Dpu),
                None => true,
            };
            let slot = [source, target].into_iter().find(|slot| lacks(*slot))?;
            Some(Lint::NothingThere { slot, what: "words" })
        }
        Op::Resource { op: ResourceOp::Route { sr: Transfer::Send, source, .. }, .. } => {
            no_rows(cell, 1 << source)
        }
        Op::Resource { op: ResourceOp::Route { sr: Transfer::Receive, target, .. }, .. } => {
            no_rows(cell, target)
        }
        _ => None,
    }
}

/// Returns likely mistakes that the ISA document allows.
pub(crate) fn of_seed(cell: &Cell, op: Op) -> Option<Lint> {
    match op {
        Op::Act { mode: ActMode::PortIndex, param, .. } if param > 3 => Some(Lint::PortIndex { param }),
        Op::Wait { events: true, cycle: slots } => {
            let is_there = |slot: &u8| cell.resource_at(*slot).is_some();
            let mut named = (0..16_u8).filter(|slot| slots >> slot & 1 == 1);
            (!named.any(|slot| is_there(&slot))).then_some(Lint::NoEvent)
        }
        Op::Resource { op: ResourceOp::Dpu { mode, .. }, .. } if mode.is_reserved() => {
            Some(Lint::Reserved { mode })
        }
        _ => None,
    }
}

pub(crate) fn has_port(cell: &Cell, slot: u8, port: u8) -> bool {
    let parts = cell.resources.iter().flat_map(|part| part.ports());
    parts.into_iter().any(|(of, known, _)| (of, known) == (slot, port))
}

pub(crate) fn no_rows(cell: &Cell, slots: u16) -> Option<Lint> {
    let has = |slot: u8| cell.resources.iter().any(|part| part.bulk_slot() == Some(slot));
    let slot = (0..16).find(|slot| slots >> slot & 1 == 1 && !has(*slot))?;
    Some(Lint::NothingThere { slot, what: "bulk rows" })
}

/// Port that was opened last in each slot, in program order.
#[derive(Default)]
pub(crate) struct Order {
    last: BTreeMap<u8, u8>,
    lanes: BTreeMap<(u8, u8), usize>,
}

impl Order {
    fn lint(&mut self, cell: &Cell, op: Op) -> Option<Lint> {
        match op {
            // The ports start here, so a later `dsu` configures the next run.
            Op::Act { .. } => {
                self.lanes.clear();
                None
            }
            Op::Resource { slot, op } => self.resource(cell, slot, op),
            _ => None,
        }
    }

    fn resource(&mut self, cell: &Cell, slot: u8, op: ResourceOp) -> Option<Lint> {
        let (port, component) = (op.port()?, cell.component_at(slot)?);
        if matches!(op, ResourceOp::Evt { .. } | ResourceOp::Dsu { .. }) {
            self.last.insert(slot, port);
            let lanes = self.lanes.entry((slot, port)).or_insert(0);
            *lanes += 1;
            let several = *lanes == 2;
            let lint = if component.is_iosram() { Lint::Lanes } else { Lint::SecondLane };
            return several.then_some(lint);
        }
        if component.is_iosram() && matches!(op, ResourceOp::Trans { .. }) {
            return Some(Lint::Lanes);
        }
        let last = self.last.get(&slot).copied().filter(|last| *last != port)?;
        (component != Component::Swb && component != Component::Rf).then_some(Lint::OtherPort { port, last })
    }
}
