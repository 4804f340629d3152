//! Views of a fabric: a cell with the components in its slots and its active ports.

use npukit_target::Shown;

use super::{DrraMachine, Part};
use crate::config::fabric::{Place, ROW_WORDS};
use crate::machine::{Memory, MemoryKind};

/// Names of a dpu's numbers.
const OF_DPU: &[&str] = &["out", "acc", "internal"];
/// Number of ports of a slot.
const PORTS: u8 = 4;

impl DrraMachine {
    /// Returns the view of a memory, and its display in the view.
    pub(super) fn view(&self, memory: usize, part: &Part) -> (String, Shown) {
        let fabric = self.machine.fabric();
        let of_cell = |place: Place, about: String| {
            (format!("cell {}.{}", place.row, place.col), Shown::new(memory, about).with_columns(ROW_WORDS))
        };
        let of_slot = |place: Place, slot| of_cell(place, self.slot(place, slot));
        match *part {
            Part::Dpu { cell, number } => {
                let slot = self.machine.cells()[cell].dpus[number].slot;
                let (view, shown) = of_slot(fabric.place(cell), slot);
                (view, shown.with_lanes(OF_DPU))
            }
            Part::Value { .. } => ("values".to_owned(), Shown::new(memory, "values of the driver")),
            Part::Memory(Memory { kind, .. }) => match kind {
                MemoryKind::Input => ("buffers".to_owned(), Shown::new(memory, "read by the top cells")),
                MemoryKind::Output => {
                    ("buffers".to_owned(), Shown::new(memory, "written by the bottom cells"))
                }
                MemoryKind::Registers { place, slot } | MemoryKind::Sram { place, slot } => {
                    of_slot(place, slot)
                }
                MemoryKind::Scalars { place } => of_cell(place, self.sequencer(place)),
                MemoryKind::Flags { place } => of_cell(place, "flags of the sequencer".to_owned()),
            },
        }
    }

    /// Describes the component at a slot, and its ports. Active ports have an arrow.
    fn slot(&self, place: Place, slot: u8) -> String {
        let resource = self.machine.fabric().cell(place).and_then(|cell| cell.resource_at(slot));
        let Some((resource, cell)) = resource.zip(self.machine.fabric().index(place)) else {
            return format!("slot {slot}");
        };
        let active = self.machine.cells()[cell].ports.active;
        let port = |(slot, port, _): (u8, u8, u32)| {
            let is_active = active >> (PORTS * slot + port) & 1 == 1;
            format!(" {slot}.{port}{}", if is_active { ">" } else { "" })
        };
        let ports: String = resource.ports().into_iter().map(port).collect();
        format!("{} in slot {slot}, ports{ports}", resource.component.name())
    }

    /// Describes the position of a sequencer.
    fn sequencer(&self, place: Place) -> String {
        let cell = self.machine.fabric().index(place).map(|cell| &self.machine.cells()[cell].sequencer);
        match cell {
            Some(sequencer) if sequencer.halted.is_some() => "sequencer, halted".to_owned(),
            Some(sequencer) => format!("sequencer, next instruction {}", sequencer.pc),
            None => "sequencer".to_owned(),
        }
    }
}
