//! Memories with ports to the buffers (specification 5.3).

use super::word::Word;
use crate::config::fabric::Row;
use crate::machine::state::{Iosram, Ports};

/// Ports of the first slot.
pub(crate) const INPUT_BUFFER: u8 = 0;
pub(crate) const OUTPUT_BUFFER: u8 = 1;
pub(crate) const SRAM_WRITE: u8 = 2;
pub(crate) const SRAM_READ: u8 = 3;
/// Ports of the second slot.
pub(crate) const BULK_WRITE: u8 = 2;
pub(crate) const BULK_READ: u8 = 3;

impl<W: Word> Iosram<W> {
    /// Returns the row that leaves as a bulk row in this cycle; the output buffer's read has
    /// priority.
    pub(crate) fn row(&self, ports: &Ports) -> Row<W> {
        let address = match ports.address(self.slot, SRAM_READ) {
            Some(_) => None,
            None => ports.address(self.slot + 1, BULK_READ),
        };
        self.at(address)
    }

    /// Returns the row that goes to the output buffer in this cycle.
    pub(crate) fn output(&self, ports: &Ports) -> Row<W> {
        self.at(ports.address(self.slot, SRAM_READ))
    }

    /// Returns the row at an address; zeros without an address. Ports keep addresses within the
    /// memory.
    fn at(&self, address: Option<usize>) -> Row<W> {
        address.map_or_else(Row::default, |address| self.rows[address])
    }
}
