//! [`Extent`]: a number of tokens that is known when a program runs, and the [`Patch`]es of
//! instructions that depend on it.

use super::limits::LARGEST;
use crate::isa::op::Op;

/// Maximum number of elements of a CVO in hardware (specification 4.6.1).
pub const CVO_LENGTH: usize = 2048;

/// Tokens of a product with keys or values if there are more than one product can have: a multiple
/// of the length of CVO instructions.
pub const PART: usize = LARGEST / CVO_LENGTH * CVO_LENGTH;

/// Number of tokens to which a row attends: all tokens up to its own, or the latest tokens of a
/// window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// Index of the row among the tokens that are processed at once.
    pub row: usize,
    /// Largest number of tokens; `None` without a window.
    pub window: Option<usize>,
    /// Number of earlier tokens for which the program has room.
    pub room: usize,
    /// Largest number of tokens of a product: at least all tokens, or [`PART`].
    pub part: usize,
}

impl Extent {
    /// Returns the number of tokens after `position` earlier tokens.
    pub fn at(self, position: usize) -> usize {
        let all = position + self.row + 1;
        // Default: without a window, all tokens count.
        all.min(self.window.unwrap_or(all))
    }

    /// Returns the largest number of tokens.
    pub fn most(self) -> usize {
        self.at(self.room)
    }

    /// Returns the first token of each product.
    pub fn parts(self) -> impl Iterator<Item = usize> {
        (0..self.most()).step_by(self.part)
    }

    /// Whether the tokens need several products.
    pub fn is_divided(self) -> bool {
        self.most() > self.part
    }

    /// Returns the number of tokens after `position` earlier ones that the product has whose first
    /// token is `first`.
    pub fn in_part(self, first: usize, position: usize) -> usize {
        (self.at(position) - first).min(self.part)
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
    /// First token of the instruction.
    pub first: usize,
}

impl Patch {
    /// Sets the field for a position.
    pub fn apply(&self, code: &mut [Op], position: usize) {
        let tokens = self.extent.in_part(self.first, position) as u16;
        match (self.patched, code.get_mut(self.instruction)) {
            (Patched::ShapeY, Some(Op::Memset(memset))) => memset.shape.y = tokens,
            (Patched::ShapeZ, Some(Op::Memset(memset))) => memset.shape.z = tokens,
            (Patched::Length, Some(Op::Cvo(cvo))) => cvo.length = tokens,
            _ => unreachable!("patches belong to instructions of their kind"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::isa::op::Memset;

    /// All parts before the last one are full at each position that a program serves.
    #[test]
    fn tokens_beyond_a_field_are_in_parts() {
        assert_eq!(PART, 63_488);
        let extent = Extent { row: 3, window: None, room: 131_072 - 4, part: PART };
        assert!(extent.is_divided());
        assert_eq!(extent.parts().collect::<Vec<_>>(), [0, 63_488, 126_976]);
        for position in [129_021, 130_000, 131_068] {
            assert!(extent.serves(position));
            let parts: Vec<usize> = extent.parts().map(|first| extent.in_part(first, position)).collect();
            assert_eq!(parts[..2], [PART; 2]);
            assert_eq!(parts.iter().sum::<usize>(), extent.at(position));
            let mut code = [Op::Memset(Memset::default()), Op::Memset(Memset::default())];
            for (instruction, first) in [(0, 63_488), (1, 126_976)] {
                Patch { instruction, patched: Patched::ShapeY, extent, first }.apply(&mut code, position);
            }
            let sizes = code.map(|op| if let Op::Memset(memset) = op { memset.shape.y } else { 0 });
            assert_eq!(sizes.map(usize::from), [PART, parts[2]]);
        }
        let whole = Extent { part: LARGEST, room: LARGEST - 4, ..extent };
        assert!(!whole.is_divided() && whole.parts().eq([0]));
        assert_eq!(whole.in_part(0, 65_531), LARGEST);
    }
}
