//! Memories of a [`Machine`] by name, to write before a call and read after it.

use npukit_target::UninitMemory;

use super::{Machine, Shadow, UnwrittenRead};
use crate::config::fabric::{Place, ROW_WORDS, Row};
use crate::machine::exec::word::Word;
use crate::machine::fault::FaultKind;
use crate::machine::state::Bulk;

/// Memory that can be read and written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Kind of the memory.
    pub kind: MemoryKind,
    /// Number of addresses.
    pub depth: usize,
    /// Words per address.
    pub lanes: usize,
}

/// Kind of a memory, with its location.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryKind {
    /// Input buffer, which the top cells read: `input`.
    Input,
    /// Output buffer, which the bottom cells write: `output`.
    Output,
    /// Register file: `rf.ROW.COL.SLOT`.
    Registers {
        /// Position of the cell.
        place: Place,
        /// Slot of the register file.
        slot: u8,
    },
    /// Memory with a buffer port, by rows: `sram.ROW.COL.SLOT`.
    Sram {
        /// Position of the cell.
        place: Place,
        /// First slot of the memory.
        slot: u8,
    },
    /// Scalar registers of a sequencer: `reg.ROW.COL`.
    Scalars {
        /// Position of the cell.
        place: Place,
    },
    /// Flag registers of a sequencer, which only the ISA document has: `flag.ROW.COL`.
    Flags {
        /// Position of the cell.
        place: Place,
    },
}

impl std::fmt::Display for MemoryKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Input => f.write_str("input"),
            Self::Output => f.write_str("output"),
            Self::Registers { place, slot } => write!(f, "rf.{}.{}.{slot}", place.row, place.col),
            Self::Sram { place, slot } => write!(f, "sram.{}.{}.{slot}", place.row, place.col),
            Self::Scalars { place } => write!(f, "reg.{}.{}", place.row, place.col),
            Self::Flags { place } => write!(f, "flag.{}.{}", place.row, place.col),
        }
    }
}

impl<W: Word> Machine<W> {
    /// Returns the words at an address of a data memory; `None` for scalar and flag registers, and
    /// outside a buffer.
    pub(crate) fn words_at(&self, kind: MemoryKind, address: usize) -> Option<Vec<W>> {
        let cell = |place: Place| {
            let index = self.fabric.places().position(|other| other == place)?;
            self.cells.get(index)
        };
        match kind {
            MemoryKind::Input => self.input.read(address).ok().map(|row| row.to_vec()),
            MemoryKind::Output => self.output.read(address).ok().map(|row| row.to_vec()),
            MemoryKind::Registers { place, slot } => {
                let file = cell(place)?.rfs.iter().find(|rf| rf.slot == slot)?;
                Some(vec![*file.rows.get(address / ROW_WORDS)?.get(address % ROW_WORDS)?])
            }
            MemoryKind::Sram { place, slot } => {
                let part = cell(place)?.iosrams.iter().find(|part| part.slot == slot)?;
                Some(part.rows.get(address)?.to_vec())
            }
            MemoryKind::Scalars { .. } | MemoryKind::Flags { .. } => None,
        }
    }
}

impl Machine {
    /// Returns the memories, buffers first.
    pub fn memories(&self) -> Vec<Memory> {
        let row = |kind, depth| Memory { kind, depth, lanes: ROW_WORDS };
        let mut all = vec![
            row(MemoryKind::Input, self.fabric.input_depth),
            row(MemoryKind::Output, self.fabric.output_depth),
        ];
        for (place, cell) in self.fabric.places().zip(&self.cells) {
            all.extend(cell.rfs.iter().map(|rf| Memory {
                kind: MemoryKind::Registers { place, slot: rf.slot },
                depth: rf.rows.len() * ROW_WORDS,
                lanes: 1,
            }));
            all.extend(
                cell.iosrams
                    .iter()
                    .map(|part| row(MemoryKind::Sram { place, slot: part.slot }, part.rows.len())),
            );
            let depth = cell.sequencer.regs.len();
            all.push(Memory { kind: MemoryKind::Scalars { place }, depth, lanes: 1 });
            if self.fabric.options.revision.is_seed() {
                all.push(Memory { kind: MemoryKind::Flags { place }, depth: u16::BITS as usize, lanes: 1 });
            }
        }
        all
    }

    /// Marks everything as unwritten, and starts recording unwritten reads. Such reads return
    /// zeros.
    pub fn tell_unwritten(&mut self) {
        self.unset(UninitMemory::Poison);
        self.shadow.iter_mut().for_each(|shadow| shadow.tell());
    }

    /// Takes the unwritten reads recorded in a run.
    pub fn unwritten_reads(&mut self) -> Vec<UnwrittenRead> {
        self.shadow.as_mut().map_or_else(Vec::new, |shadow| shadow.take_told())
    }

    /// Returns the words at an address of a memory.
    ///
    /// # Errors
    ///
    /// The row is outside the buffer.
    pub fn peek(&self, kind: MemoryKind, address: usize) -> Result<Vec<i16>, FaultKind> {
        Ok(match kind {
            MemoryKind::Input => self.input.read(address)?.to_vec(),
            MemoryKind::Output => self.output.read(address)?.to_vec(),
            MemoryKind::Registers { place, slot } => {
                let (cell, number) = self.file(place, slot);
                vec![self.cells[cell].rfs[number].rows[address / ROW_WORDS][address % ROW_WORDS]]
            }
            MemoryKind::Sram { place, slot } => {
                let (cell, number) = self.sram(place, slot);
                self.cells[cell].iosrams[number].rows[address].to_vec()
            }
            MemoryKind::Scalars { place } => vec![self.cells[self.cell(place)].sequencer.regs[address]],
            MemoryKind::Flags { place } => {
                vec![(self.cells[self.cell(place)].sequencer.flags >> address & 1) as i16]
            }
        })
    }

    /// Writes the words at an address of a memory. Missing words are 0.
    ///
    /// # Errors
    ///
    /// The row is outside the buffer.
    pub fn poke(&mut self, kind: MemoryKind, address: usize, words: &[i16]) -> Result<(), FaultKind> {
        let mut row = Row::default();
        row.iter_mut().zip(words).for_each(|(place, word)| *place = *word);
        match kind {
            MemoryKind::Input => self.input.write(address, row)?,
            MemoryKind::Output => self.output.write(address, row)?,
            MemoryKind::Registers { place, slot } => {
                let ((cell, number), at) = (self.file(place, slot), address % ROW_WORDS);
                self.cells[cell].rfs[number].rows[address / ROW_WORDS][at] = row[0];
                self.mark(cell, Bulk::Rf(number as u8), address / ROW_WORDS, 1 << at);
            }
            MemoryKind::Sram { place, slot } => {
                let (cell, number) = self.sram(place, slot);
                self.cells[cell].iosrams[number].rows[address] = row;
                self.mark(cell, Bulk::Iosram(number as u8), address, u16::MAX);
            }
            MemoryKind::Scalars { place } => {
                let cell = self.cell(place);
                self.cells[cell].sequencer.regs[address] = row[0];
            }
            MemoryKind::Flags { place } => {
                let cell = self.cell(place);
                let flags = &mut self.cells[cell].sequencer.flags;
                *flags = *flags & !(1 << address) | u16::from(row[0] != 0) << address;
            }
        }
        Ok(())
    }

    fn mark(&mut self, cell: usize, part: Bulk, row: usize, words: u16) {
        if let Some(shadow) = &mut self.shadow {
            Shadow::written(shadow, cell, part, row, words);
        }
    }

    fn index(&self, place: Place) -> Option<usize> {
        self.fabric.places().position(|other| other == place)
    }

    /// Returns the cell index of a memory from [`Self::memories`].
    fn cell(&self, place: Place) -> usize {
        self.index(place).expect("the memory is of a cell of the fabric")
    }

    fn file(&self, place: Place, slot: u8) -> (usize, usize) {
        let cell = self.cell(place);
        let number = self.cells[cell].rfs.iter().position(|rf| rf.slot == slot);
        (cell, number.expect("the memory is a file of the cell"))
    }

    fn sram(&self, place: Place, slot: u8) -> (usize, usize) {
        let cell = self.cell(place);
        let number = self.cells[cell].iosrams.iter().position(|part| part.slot == slot);
        (cell, number.expect("the memory is one of the cell"))
    }
}
