//! [`Program`]: the words of each cell. [`crate::isa::asm`] and [`crate::program::binary`] read and
//! write it.

use std::collections::BTreeMap;

use thiserror::Error;

use crate::config::fabric::{Fabric, Place};
use crate::isa::op::{ModeError, Op};
use crate::isa::{DecodeError, Isa};

/// Program: words by cell. Cells that are not listed halt at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// Words of each cell.
    pub cells: BTreeMap<Place, Vec<u32>>,
}

/// Position of an instruction in a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct At {
    /// Position of the cell.
    pub place: Place,
    /// Index in the cell's program.
    pub pc: usize,
}

impl std::fmt::Display for At {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cell {}, instruction {}", self.place, self.pc)
    }
}

/// Reason why a program does not fit a fabric.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProgramError {
    /// The program has a cell that the fabric does not have.
    #[error("cell {place} does not exist: the fabric has {rows} rows and {cols} columns")]
    NoCell {
        /// Position of the cell.
        place: Place,
        /// Rows of the fabric.
        rows: usize,
        /// Columns of the fabric.
        cols: usize,
    },
    /// The program has more words than the instruction memory.
    #[error(
        "cell {place} has {words} instructions: at most {most} can be loaded (IRAM_DEPTH, 2^INSTR_ADDR_WIDTH)"
    )]
    TooLong {
        /// Position of the cell.
        place: Place,
        /// Number of words of the cell.
        words: usize,
        /// Largest number of words.
        most: usize,
    },
    /// A word is not an instruction.
    #[error("{at}: {reason}")]
    Word {
        /// Position of the word.
        at: At,
        /// Reason.
        reason: DecodeError,
    },
    /// The mode of an instruction is unknown.
    #[error("{at}: {reason}")]
    Mode {
        /// Position of the instruction.
        at: At,
        /// Reason.
        reason: ModeError,
    },
}

impl Program {
    /// Returns the number of an instruction, counted cell after cell.
    pub fn index(&self, at: At) -> usize {
        self.cells.range(..at.place).map(|(_, words)| words.len()).sum::<usize>() + at.pc
    }

    /// Number of instructions in all cells.
    pub fn instructions(&self) -> usize {
        self.cells.values().map(Vec::len).sum()
    }

    /// Decodes the instructions of every cell of a fabric, in fabric order.
    ///
    /// # Errors
    ///
    /// A cell that does not exist, a program that is too long, or a word that is not an instruction
    /// of its cell.
    pub fn decode(&self, fabric: &Fabric) -> Result<Vec<Vec<Op>>, ProgramError> {
        let mut ops = vec![Vec::new(); fabric.cells.len()];
        for (&place, words) in &self.cells {
            let (rows, cols) = (fabric.rows, fabric.cols);
            let missing = || ProgramError::NoCell { place, rows, cols };
            let cell = fabric.cell(place).ok_or_else(missing)?;
            if words.len() > cell.iram_words {
                return Err(ProgramError::TooLong { place, words: words.len(), most: cell.iram_words });
            }
            let decoded = words.iter().enumerate().map(|(pc, &word)| {
                let at = At { place, pc };
                let instruction = Isa::get().decode(word, |slot| cell.component_at(slot));
                let instruction = instruction.map_err(|reason| ProgramError::Word { at, reason })?;
                Op::new(&instruction).map_err(|reason| ProgramError::Mode { at, reason })
            });
            let decoded = decoded.collect::<Result<Vec<_>, _>>()?;
            if let Some(of_cell) = fabric.index(place).and_then(|index| ops.get_mut(index)) {
                *of_cell = decoded;
            }
        }
        Ok(ops)
    }
}
