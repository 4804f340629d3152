//! [`Extent`]: a number of tokens that is known when a program runs, and the [`Patch`]es of
//! instructions that depend on it.

use crate::isa::op::Op;

/// Maximum number of elements of a CVO in hardware (specification 4.6.1).
pub const CVO_LENGTH: usize = 2048;

/// Number of tokens that a row attends to: those up to its own, or the latest ones of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Index of the row among the tokens that are processed at once.
    pub row: usize,
    /// Largest number of tokens; `None` without a window.
    pub window: Option<usize>,
    /// Number of earlier tokens for which the program has room.
    pub room: usize,
}

impl Extent {
    /// Returns the number of tokens after `position` earlier ones.
    pub fn at(self, position: usize) -> usize {
        let all = position + self.row + 1;
        // Default: without a window, all tokens count.
        all.min(self.window.unwrap_or(all))
    }

    /// Returns the largest number of tokens.
    pub fn most(self) -> usize {
        self.at(self.room)
    }

    /// Returns the first value of the last CVO instruction over the tokens.
    pub fn last_part(self) -> usize {
        (self.most() - 1) / CVO_LENGTH * CVO_LENGTH
    }

    /// Whether the instructions for the largest number of tokens also compute this position: all
    /// CVO instructions before the last one are full.
    pub fn serves(self, position: usize) -> bool {
        position <= self.room && self.at(position) > self.last_part()
    }
}

/// Field of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patched {
    /// Slot `b` of a MEMSET.
    ShapeY,
    /// Slot `c` of a MEMSET.
    ShapeZ,
    /// Length of the last CVO over the tokens.
    Length,
}

/// Field of an instruction that the host sets before it pushes the word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patch {
    /// Index of the instruction.
    pub instruction: usize,
    /// Field that is set.
    pub patched: Patched,
    /// Number of tokens in the field.
    pub extent: Extent,
}

impl Patch {
    /// Sets the field for a position.
    pub fn apply(&self, code: &mut [Op], position: usize) {
        let tokens = self.extent.at(position);
        match (self.patched, code.get_mut(self.instruction)) {
            (Patched::ShapeY, Some(Op::Memset(memset))) => memset.shape.y = tokens as u16,
            (Patched::ShapeZ, Some(Op::Memset(memset))) => memset.shape.z = tokens as u16,
            (Patched::Length, Some(Op::Cvo(cvo))) => {
                cvo.length = (tokens - self.extent.last_part()) as u16;
            }
            _ => unreachable!("patches belong to instructions of their kind"),
        }
    }
}
