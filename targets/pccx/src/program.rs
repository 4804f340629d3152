//! A program in memory: [`Program`], which [`crate::program::artifact`] reads and writes.

pub(crate) mod artifact;
pub(crate) mod host;
pub(crate) mod runtime;

use std::ops::Range;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use thiserror::Error;

use crate::config::{Config, Reading, WINDOW_UNITS, WORD_BYTES};
use crate::isa::fault::Direction;
use crate::isa::op::{Banks, Op};
use crate::machine::weights::WeightImage;
use crate::machine::{AccessError, Machine};

/// Range of host memory that MEMCPY accesses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// Number among the windows of its direction.
    pub number: u32,
    /// Direction of its transfers.
    pub direction: Direction,
    /// Size in bytes, a multiple of 16.
    pub size_bytes: u64,
    /// Description of the content.
    pub name: String,
}

/// Host operation between two instructions. [`crate::program::host::HostStep`] defines the kinds
/// and operands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostOp {
    /// Index of the instruction that follows the operation; the number of instructions if it is at
    /// the end.
    pub position: u32,
    /// Code of the kind, as in the container.
    pub kind: u32,
    /// Operands, depending on the kind.
    pub operands: Vec<u32>,
}

/// Unknown section of the container, kept unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extra {
    /// Four bytes that identify the section.
    pub tag: [u8; 4],
    /// Bytes of the section, without its entry in the table.
    pub bytes: Vec<u8>,
}

/// Instructions and all data that they refer to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// Whether the program uses CVO's extensions.
    pub extensions: bool,
    /// Document that takes precedence where two contradict each other.
    pub reading: Reading,
    /// Instructions in the order of execution.
    pub code: Vec<Op>,
    /// For each GEMV and GEMM in order, the index of its weights.
    pub bindings: Vec<u32>,
    /// Weight matrices, to which the bindings refer by index.
    pub images: Vec<Arc<WeightImage>>,
    /// Host windows, in any order.
    pub windows: Vec<Window>,
    /// Host operations in the order of their positions.
    pub host_ops: Vec<HostOp>,
    /// Unknown sections, kept unchanged.
    pub extras: Vec<Extra>,
}

/// Inconsistency between parts of a program.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProgramError {
    /// The number of bindings differs from the number of products with streamed weights.
    #[error(
        "{bindings} weights are bound, and there are {products} GEMVs and GEMMs whose weights stream: each takes one"
    )]
    Bindings {
        /// Number of entries in the list of bindings.
        bindings: usize,
        /// Number of GEMVs and GEMMs with streamed weights.
        products: usize,
    },
    /// A binding refers to weights that do not exist.
    #[error("GEMV or GEMM number {number} takes weights {image}: there are {images}")]
    Image {
        /// Index of the binding, starting at 0.
        number: usize,
        /// Index of the weights to which the binding refers.
        image: u32,
        /// Number of weight matrices in the program.
        images: usize,
    },
    /// The size of a window is not supported by MEMCPY.
    #[error(
        "window {number} {direction} has {size_bytes} bytes: legal are multiples of {WORD_BYTES} up to {}",
        most_bytes()
    )]
    WindowSize {
        /// Number of the window.
        number: u32,
        /// Direction of the window.
        direction: Direction,
        /// Size of the window in bytes.
        size_bytes: u64,
    },
    /// Two windows have the same number and direction.
    #[error("there are two windows {number} {direction}")]
    WindowTwice {
        /// Number that both windows have.
        number: u32,
        /// Direction that both windows have.
        direction: Direction,
    },
    /// A host operation is after the end of the program, or before the previous operation.
    #[error("host operation {index} is at instruction {position}: legal are {least} to {most}")]
    HostPosition {
        /// Index of the operation, starting at 0.
        index: usize,
        /// Index of the instruction that follows the operation.
        position: u32,
        /// Position of the previous operation.
        least: u32,
        /// Number of instructions in the program.
        most: usize,
    },
    /// A CVO uses an extension, but the program does not declare extensions.
    #[error("instruction {index} is CVO {function}, but the program declares no extensions")]
    Extension {
        /// Index of the instruction, starting at 0.
        index: usize,
        /// Name of the function.
        function: &'static str,
    },
}

/// Returns the number of bytes of a window that MEMCPY can reach.
pub(crate) const fn most_bytes() -> u64 {
    WINDOW_UNITS as u64 * WORD_BYTES as u64
}

impl Program {
    /// Checks the consistency of the program's parts.
    ///
    /// # Errors
    /// [`ProgramError`] for the first rule that is violated: one binding per product with streamed
    /// weights, to existing weights; unique windows of a legal size; host operations within the
    /// program; extensions only if declared.
    pub fn check(&self) -> Result<(), ProgramError> {
        self.check_extensions()?;
        let mut banks = Banks::default();
        let takes = |op: &&Op| {
            banks.step(op);
            op.takes_weights(&banks)
        };
        let products = self.code.iter().filter(takes).count();
        let (bindings, images) = (self.bindings.len(), self.images.len());
        if bindings != products {
            return Err(ProgramError::Bindings { bindings, products });
        }
        let missing = self.bindings.iter().enumerate().find(|(_, image)| **image as usize >= images);
        if let Some((number, &image)) = missing {
            return Err(ProgramError::Image { number, image, images });
        }
        self.check_windows()?;
        self.check_host_ops()
    }

    fn check_extensions(&self) -> Result<(), ProgramError> {
        for (index, op) in self.code.iter().enumerate() {
            if let Op::Cvo(cvo) = op
                && cvo.cvo_func.is_extension()
                && !self.extensions
            {
                return Err(ProgramError::Extension { index, function: cvo.cvo_func.name() });
            }
        }
        Ok(())
    }

    fn check_windows(&self) -> Result<(), ProgramError> {
        for (index, &Window { number, direction, size_bytes, .. }) in self.windows.iter().enumerate() {
            if !size_bytes.is_multiple_of(WORD_BYTES as u64) || size_bytes > most_bytes() {
                return Err(ProgramError::WindowSize { number, direction, size_bytes });
            }
            let same = |other: &Window| (other.number, other.direction) == (number, direction);
            if self.windows.iter().take(index).any(same) {
                return Err(ProgramError::WindowTwice { number, direction });
            }
        }
        Ok(())
    }

    fn check_host_ops(&self) -> Result<(), ProgramError> {
        let (mut least, most) = (0, self.code.len());
        for (index, &HostOp { position, .. }) in self.host_ops.iter().enumerate() {
            if position < least || position as usize > most {
                return Err(ProgramError::HostPosition { index, position, least, most });
            }
            least = position;
        }
        Ok(())
    }

    /// Splits the program at its host operations: each element has some operations, and the range
    /// of instructions that follows them. The last range may be empty.
    pub fn segments(&self) -> Vec<(&[HostOp], Range<usize>)> {
        let mut segments = Vec::new();
        let (mut rest, mut start) = (&self.host_ops[..], 0);
        while start < self.code.len() || !rest.is_empty() {
            let here = rest.iter().take_while(|op| op.position as usize <= start).count();
            let (before, after) = rest.split_at(here);
            let end = after.first().map_or(self.code.len(), |op| (op.position as usize).min(self.code.len()));
            segments.push((before, start..end));
            (rest, start) = (after, end);
            if start == self.code.len() && rest.is_empty() {
                break;
            }
        }
        segments
    }

    /// Returns the instructions that host operations precede, in ascending order.
    pub fn syncs(&self) -> Vec<usize> {
        let mut syncs: Vec<usize> = self.host_ops.iter().map(|op| op.position as usize).collect();
        syncs.dedup();
        syncs
    }

    /// Returns the name of the built-in instance that the program is for.
    pub const fn preset(&self) -> &'static str {
        match (self.extensions, self.reading) {
            (false, Reading::Documents) => "reference",
            (true, Reading::Documents) => "extended",
            (false, Reading::Seed) => "reference+seed",
            (true, Reading::Seed) => "extended+seed",
        }
    }

    /// Binds the program's weights, and windows filled with zeros.
    ///
    /// # Errors
    /// [`AccessError::Window`] if MEMCPY does not support the size of a window.
    pub fn bind(&self, machine: &mut Machine) -> Result<(), AccessError> {
        for &Window { number, direction, size_bytes, .. } in &self.windows {
            machine.bind_window(direction, number, vec![0; size_bytes.min(most_bytes()) as usize])?;
        }
        for image in self.bindings.iter().filter_map(|&image| self.images.get(image as usize)) {
            machine.bind_weights(Arc::clone(image));
        }
        Ok(())
    }

    /// Returns the instance that [`Program::preset`] names.
    pub fn config(&self) -> Option<Config> {
        Config::named(self.preset())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_lie_between_host_operations() {
        let host = |position| HostOp { position, kind: 0, operands: Vec::new() };
        let program = |positions: &[u32]| Program {
            code: vec![Op::Kick; 4],
            host_ops: positions.iter().map(|&position| host(position)).collect(),
            ..Program::default()
        };
        let ranges = |positions: &[u32]| -> Vec<(usize, Range<usize>)> {
            let program = program(positions);
            program.segments().into_iter().map(|(before, range)| (before.len(), range)).collect()
        };
        assert_eq!(ranges(&[]), [(0, 0..4)]);
        assert_eq!(ranges(&[0, 0, 3, 4]), [(2, 0..3), (1, 3..4), (1, 4..4)]);
        assert_eq!(ranges(&[2]), [(0, 0..2), (1, 2..4)]);
        assert!(Program::default().segments().is_empty());
        assert!(program(&[2, 1]).check().is_err() && program(&[5]).check().is_err());
        assert!(program(&[1, 1, 4]).check().is_ok());
    }
}
