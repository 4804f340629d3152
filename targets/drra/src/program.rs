//! [`Program`]: the words of each cell. Its forms in files are in [`crate::isa::asm`] and [`crate::program::binary`].

pub(crate) mod artifact;
pub(crate) mod binary;

use npukit_base::SortedMap;

use thiserror::Error;

use crate::config::fabric::{Fabric, Place};
use crate::isa::op::{ModeError, Op};
use crate::isa::{DecodeError, Isa};

/// A program: words by cell. Cells that are not listed halt at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// Words of each cell.
    pub cells: SortedMap<Place, Vec<u32>>,
}

/// An instruction's place in a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct At {
    /// The cell.
    pub place: Place,
    /// Index in the cell's program.
    pub pc: usize,
}

impl std::fmt::Display for At {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "cell {}, instruction {}", self.place, self.pc)
    }
}

/// Why a program does not fit a fabric.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProgramError {
    /// A cell that is not there.
    #[error("there is no cell {place}: the fabric has {rows} rows and {cols} columns")]
    NoCell {
        /// The cell.
        place: Place,
        /// Rows.
        rows: usize,
        /// Columns.
        cols: usize,
    },
    /// More words than the instruction memory takes.
    #[error(
        "cell {place} has {words} instructions: at most {most} can be loaded (IRAM_DEPTH, 2^INSTR_ADDR_WIDTH)"
    )]
    TooLong {
        /// The cell.
        place: Place,
        /// Its words.
        words: usize,
        /// What fits.
        most: usize,
    },
    /// A word that is not an instruction.
    #[error("{at}: {reason}")]
    Word {
        /// Where.
        at: At,
        /// What is wrong.
        reason: DecodeError,
    },
    /// A mode without meaning.
    #[error("{at}: {reason}")]
    Mode {
        /// Where.
        at: At,
        /// What is wrong.
        reason: ModeError,
    },
}

impl Program {
    /// The number of an instruction, cell after cell.
    pub fn index(&self, at: At) -> usize {
        self.cells.before(&at.place).map(|(_, words)| words.len()).sum::<usize>() + at.pc
    }

    /// How many instructions there are.
    pub fn instructions(&self) -> usize {
        self.cells.values().map(Vec::len).sum()
    }

    /// The instructions of every cell of a fabric, in the fabric's order.
    ///
    /// # Errors
    ///
    /// A cell that is not there, a program too long, a word that means nothing to its cell.
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
