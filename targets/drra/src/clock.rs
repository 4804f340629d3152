//! What a run did, for people: [`Counts`] for reports, [`Timeline`] for trace viewers, [`Lives`] for maps of memories,
//! [`Table`] as text. All are
//! [`Observer`]s.

mod counts;
mod lives;
mod table;
mod timeline;

use crate::config::component::Component;
use crate::config::fabric::{Cell, Fabric, Place};
use crate::isa::Isa;
use crate::isa::asm::Listing;
use crate::isa::op::Op;

pub(crate) use counts::Counts;
pub(crate) use lives::{Life, Lives, Store};
pub(crate) use table::Table;
pub(crate) use timeline::{Played, Timeline, Tracks};

/// A port of a cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PortName {
    /// Number of the cell.
    pub cell: usize,
    /// `4 * slot + port`.
    pub number: usize,
    /// `(1, 0) rf 2 word_read`
    pub text: String,
}

/// The ports of all cells, in the fabric's order.
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

/// `rf 2 word_read`
fn port_name(cell: &Cell, slot: u8, port: u8) -> String {
    let component = cell.component_at(slot).expect("ports are of components");
    let fields = Isa::get().rows(component).iter().flat_map(|row| &row.fields);
    let name = fields.filter(|field| field.name == "port").find_map(|field| field.name_of(port.into()));
    format!("{} {slot} {}", component.name(), name.expect("all ports of a fabric have names"))
}

/// An instruction of a cell's program as text: `rep(slot=1, port=word_read, iter=32)`.
fn text_of(cell: &Cell, op: &Op) -> String {
    let component_at = |slot| cell.component_at(slot);
    let component = op.slot().map_or(Some(Component::Sequencer), component_at);
    let word = component.and_then(|component| op.word(component).ok());
    let word = word.expect("an instruction of a program came from a word");
    let instruction = Isa::get().decode(word, component_at);
    instruction.expect("words of instructions decode").text(Isa::get(), Listing::Named)
}
