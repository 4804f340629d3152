//! Steps 2 and 4 of a cycle: bulk rows and buffers.

use super::observer::{Access, Observer};
use super::{Fault, Machine, WarningKind};
use crate::config::fabric::Row;
use crate::isa::program::At;
use crate::machine::exec::word::Word;
use crate::machine::exec::{iosram, rf};
use crate::machine::fault::FaultKind;
use crate::machine::state::{Bulk, CellState};

/// Rows in transfer.
#[derive(Clone, Debug, Default)]
pub(super) struct Transfers<W> {
    memories: Vec<Transfer<W>>,
    output: Vec<OutputRow<W>>,
}

/// Row in transfer to the output buffer.
#[derive(Clone, Copy, Debug)]
struct OutputRow<W> {
    cell: usize,
    slot: u8,
    row: usize,
    values: Row<W>,
}

/// Row in transfer to a memory.
#[derive(Clone, Copy, Debug)]
struct Transfer<W> {
    cell: usize,
    part: Bulk,
    address: usize,
    row: Row<W>,
}

/// Mask of ports that move rows: 2 and 3 of every slot. Memories also use 0 and 1.
pub(super) const ROW_PORTS: u64 = 0xcccc_cccc_cccc_cccc;

impl<W: Word> Machine<W> {
    /// Step 2: reads all rows that move in this cycle.
    pub(super) fn gather(
        &mut self,
        index: usize,
        cycle: u64,
        observer: &mut impl Observer,
    ) -> Result<(), Fault> {
        let cell = &self.cells[index];
        if cell.ports.emitted & (ROW_PORTS | cell.ports.iosram) == 0 {
            return Ok(());
        }
        for (part, rf) in (0..).zip(&cell.rfs) {
            if let Some(address) = cell.ports.address(rf.slot, rf::BULK_WRITE) {
                let row = self.incoming(index, rf.slot);
                self.transfers.memories.push(Transfer { cell: index, part: Bulk::Rf(part), address, row });
            }
        }
        for part in 0..cell.iosrams.len() {
            self.iosram(index, part, cycle, observer)?;
        }
        Ok(())
    }

    /// Reads the rows that a memory sends and receives.
    fn iosram(
        &mut self,
        index: usize,
        number: usize,
        cycle: u64,
        observer: &mut impl Observer,
    ) -> Result<(), Fault> {
        let cell = &self.cells[index];
        let part = &cell.iosrams[number];
        let (slot, ports) = (part.slot, &cell.ports);
        let place = || self.fabric.place(index);
        let mut access = |is_write, row| {
            if observer.is_on() {
                observer.access(Access { cycle, is_write, col: place().col, row });
            }
        };
        let fault = |port, kind: FaultKind| Fault::Access { cycle, place: place(), slot, port, kind };
        let mut input = Row::<W>::default();
        if let Some(row) = ports.address(slot, iosram::INPUT_BUFFER) {
            access(false, row);
            input = self.input.read(row).map_err(|kind| fault(iosram::INPUT_BUFFER, kind))?;
        }
        if let Some(row) = ports.address(slot, iosram::OUTPUT_BUFFER) {
            access(true, row);
            self.transfers.output.push(OutputRow { cell: index, slot, row, values: part.output(ports) });
        }
        let bulk = ports.address(slot + 1, iosram::BULK_WRITE);
        let transfer =
            |address, row| Transfer { cell: index, part: Bulk::Iosram(number as u8), address, row };
        match (ports.address(slot, iosram::SRAM_WRITE), bulk) {
            (Some(address), bulk) => {
                self.transfers.memories.push(transfer(address, input));
                if bulk.is_some() {
                    let at = At { place: place(), pc: cell.sequencer.pc };
                    self.warnings.add(cycle, at, WarningKind::Dropped { slot });
                }
            }
            (None, Some(address)) => {
                let row = self.incoming(index, slot + 1);
                self.transfers.memories.push(transfer(address, row));
            }
            (None, None) => {}
        }
        Ok(())
    }

    /// Returns the row that arrives at a slot through the routes; zeros if no slot sends.
    fn incoming(&self, index: usize, slot: u8) -> Row<W> {
        let from = self.sender(index, slot);
        from.map_or_else(Row::default, |(cell, slot)| outgoing(&self.cells[cell], slot))
    }

    /// Returns the cell and slot that sent the row which arrives at a slot.
    pub(super) fn sender(&self, index: usize, slot: u8) -> Option<(usize, u8)> {
        let side = self.cells[index].swb.direction_of(slot)?;
        let cell = self.neighbors[index][side.index()]?;
        Some((cell, self.cells[cell].swb.sender_of(side.opposite())?))
    }

    /// Step 4: writes all rows.
    pub(super) fn apply(&mut self, cycle: u64) -> Result<(), Fault> {
        let mut transfers = std::mem::take(&mut self.transfers);
        for transfer in transfers.memories.drain(..) {
            rows(&mut self.cells[transfer.cell], transfer.part)[transfer.address] = transfer.row;
        }
        // If several columns write the same row, the highest column takes precedence.
        transfers.output.sort_by_key(|written| self.fabric.place(written.cell).col);
        for OutputRow { cell: index, slot, row, values } in transfers.output.drain(..) {
            let place = self.fabric.place(index);
            let fault = |kind| Fault::Access { cycle, place, slot, port: iosram::OUTPUT_BUFFER, kind };
            self.output.write(row, values).map_err(fault)?;
        }
        self.transfers = transfers;
        Ok(())
    }
}

/// Returns the bulk row that leaves a slot in this cycle.
fn outgoing<W: Word>(cell: &CellState<W>, slot: u8) -> Row<W> {
    match cell.bulk[usize::from(slot)] {
        Bulk::None => Row::default(),
        Bulk::Rf(part) => cell.rfs[usize::from(part)].row(&cell.ports),
        Bulk::Iosram(part) => cell.iosrams[usize::from(part)].row(&cell.ports),
    }
}

/// Returns the rows of a component that receives rows.
fn rows<W: Word>(cell: &mut CellState<W>, part: Bulk) -> &mut [Row<W>] {
    match part {
        Bulk::None => unreachable!("only files and memories take rows in"),
        Bulk::Rf(part) => &mut cell.rfs[usize::from(part)].rows,
        Bulk::Iosram(part) => &mut cell.iosrams[usize::from(part)].rows,
    }
}
