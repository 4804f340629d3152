//! [`of_circuit`]: instructions that the released circuit executes differently from the ISA
//! document.

use super::lint::Lint;
use crate::config::component::Component;
use crate::config::fabric::Cell;
use crate::config::revision::{Repx, Revision};
use crate::isa::op::{Op, ResourceOp};

/// Returns the differences that do not depend on when the instruction is executed.
pub(super) fn of_circuit(cell: &Cell, op: Op) -> Vec<Lint> {
    match op {
        Op::Brn { .. } => vec![Lint::Branch],
        Op::Resource { slot, op } => {
            let component = cell.component_at(slot).expect("a word for an empty slot is not an instruction");
            of_port(cell, slot, component, op)
        }
        _ => Vec::new(),
    }
}

fn of_port(cell: &Cell, slot: u8, component: Component, op: ResourceOp) -> Vec<Lint> {
    let widths = Revision::Released.widths(component);
    match op {
        ResourceOp::Dsu { base, .. } if component == Component::Rf && base != 0 => {
            vec![Lint::FirstAddress { component, base }]
        }
        ResourceOp::Rep { port, iter, step, delay } => {
            let narrow = |field, value: u8, bits: u32| {
                let (value, kept) = (u32::from(value), u32::from(value) & ((1 << bits) - 1));
                (value != kept).then_some(Lint::Narrow { component, field, value, bits, kept })
            };
            let wide = size(cell, slot, port) > 1 << widths.step;
            let negative = (step < 0 && wide).then_some(Lint::NegativeStep { step });
            let narrow = [narrow("iter", iter, widths.iter), narrow("delay", delay, widths.delay)];
            narrow.into_iter().chain([negative]).flatten().collect()
        }
        ResourceOp::Repx { iter, delay, .. } => match Revision::Released.repx(component) {
            Repx::NextLevel => vec![Lint::NextLevel { component }],
            // If fields are as wide as in the ISA document, the extension changes nothing.
            Repx::Extends if widths == Revision::Text.widths(component) || (iter, delay) == (0, 0) => {
                Vec::new()
            }
            Repx::Extends => vec![Lint::HighParts { component, widths }],
        },
        _ => Vec::new(),
    }
}

/// Returns the number of addresses of a port.
fn size(cell: &Cell, slot: u8, port: u8) -> u32 {
    let ports = cell.resources.iter().flat_map(|part| part.ports());
    ports.into_iter().find(|(of, known, _)| (*of, *known) == (slot, port)).map_or(0, |(_, _, size)| size)
}
