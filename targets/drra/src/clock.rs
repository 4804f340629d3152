//! Views of a run for people: [`Counts`] for reports, [`Timeline`] for trace viewers, [`Liveness`]
//! for memory maps, [`Table`] as text. All implement [`Observer`].

mod counts;
mod liveness;
mod table;
mod timeline;

use crate::config::component::Component;
use crate::config::fabric::{Cell, Fabric, Place};
use crate::isa::Isa;
use crate::isa::asm::Listing;
use crate::isa::op::Op;

pub(crate) use counts::{Counts, ROW_BYTES, no_activity};
pub(crate) use liveness::{Life, Liveness, Store};
pub(crate) use table::Table;
pub(crate) use timeline::{Played, Timeline, Tracks};

/// Port of a cell, with its display name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PortName {
    /// Index of the cell in the fabric.
    pub cell: usize,
    /// Port number in the cell: `4 * slot + port`.
    pub number: usize,
    /// Display name: `(1, 0) rf 2 word_read`.
    pub text: String,
}

/// Returns the ports of all cells, in fabric order.
pub(crate) fn port_names(fabric: &Fabric) -> Vec<PortName> {
    let cells = fabric.places().zip(&fabric.cells).enumerate();
    let of_cell = |(index, (place, cell)): (usize, (Place, &Cell))| {
        let ports = cell.resources.iter().flat_map(|part| part.ports());
        let name = move |(slot, port, _): (u8, u8, u32)| PortName {
            cell: index,
            number: usize::from(4 * slot + port),
            text: format!("{place} {}", port_name(cell, slot, port)),
        };
        ports.map(name).collect::<Vec<_>>()
    };
    cells.flat_map(of_cell).collect()
}

/// Returns the display name of a port: `rf 2 word_read`.
fn port_name(cell: &Cell, slot: u8, port: u8) -> String {
    let component = cell.component_at(slot).expect("ports are of components");
    let fields = Isa::get().rows(component).iter().flat_map(|row| &row.fields);
    let name = fields.filter(|field| field.name == "port").find_map(|field| field.name_of(port.into()));
    format!("{} {slot} {}", component.name(), name.expect("all ports of a fabric have names"))
}

/// Returns an instruction as assembly text: `rep(slot=1, port=word_read, iter=32)`.
fn text_of(cell: &Cell, op: &Op) -> String {
    let component_at = |slot| cell.component_at(slot);
    let component = op.slot().map_or(Some(Component::Sequencer), component_at);
    let word = component.and_then(|component| op.word(component).ok());
    let word = word.expect("an instruction of a program came from a word");
    let instruction = Isa::get().decode(word, component_at);
    instruction.expect("words of instructions decode").text(Isa::get(), Listing::Named)
}
