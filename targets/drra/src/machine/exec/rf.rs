//! Register files: words and rows (specification 5.2).

use super::word::Word;
use crate::config::fabric::{ROW_WORDS, Row};
use crate::machine::state::{Ports, Rf, Swb};

/// Ports of a register file.
pub(crate) const WORD_WRITE: u8 = 0;
pub(crate) const WORD_READ: u8 = 1;
pub(crate) const BULK_WRITE: u8 = 2;
pub(crate) const BULK_READ: u8 = 3;

impl<W: Word> Rf<W> {
    /// Returns the word that leaves in this cycle: 0 without an address.
    #[inline]
    pub(crate) fn word(&self, ports: &Ports) -> W {
        let address = ports.address(self.slot, WORD_READ);
        address.map_or_else(W::default, |address| self.rows[address / ROW_WORDS][address % ROW_WORDS])
    }

    /// Returns the row that leaves in this cycle: zeros without an address.
    pub(crate) fn row(&self, ports: &Ports) -> Row<W> {
        let address = ports.address(self.slot, BULK_READ);
        address.map_or_else(Row::default, |address| self.rows[address])
    }

    /// Writes a word, unless a bulk row goes to the same row.
    #[inline]
    pub(crate) fn write(&mut self, ports: &Ports, swb: &Swb, words: &[W; 32]) {
        let Some(address) = ports.address(self.slot, WORD_WRITE) else { return };
        let row = address / ROW_WORDS;
        if ports.address(self.slot, BULK_WRITE) == Some(row) {
            return;
        }
        self.rows[row][address % ROW_WORDS] = words[usize::from(swb.source_of(self.slot) & 31)];
    }
}
