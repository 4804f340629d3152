//! A whole program in memory: [`Program`], which [`crate::program::artifact`] reads and writes.

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

/// A place of the host's memory that MEMCPY reaches.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Window {
    /// Number in its direction.
    pub number: u32,
    /// Which way its content goes.
    pub direction: Direction,
    /// Size, a multiple of 16.
    pub size_bytes: u64,
    /// What it holds.
    pub name: String,
}

/// Something that the host does between two instructions. [`crate::program::host::HostStep`] gives kinds and operands their
/// meaning.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HostOp {
    /// The instruction before which it is done; as many as there are, after the last.
    pub position: u32,
    /// What is done.
    pub kind: u32,
    /// With what.
    pub operands: Vec<u32>,
}

/// A section of the container that this version does not define; kept as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extra {
    /// Its tag.
    pub tag: [u8; 4],
    /// Its content.
    pub bytes: Vec<u8>,
}

/// Instructions, and all they refer to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Program {
    /// Whether it uses CVO's extensions.
    pub extensions: bool,
    /// Which text it goes by where two say different things.
    pub reading: Reading,
    /// The instructions.
    pub code: Vec<Op>,
    /// Index of the weights of each GEMV and GEMM, in order.
    pub bindings: Vec<u32>,
    /// The weights.
    pub images: Vec<Arc<WeightImage>>,
    /// The host windows.
    pub windows: Vec<Window>,
    /// What the host does, in the order of positions.
    pub host_ops: Vec<HostOp>,
    /// Sections of others.
    pub extras: Vec<Extra>,
}

/// What is wrong with a program as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ProgramError {
    /// Not one image for each product.
    #[error(
        "{bindings} weights are bound, and there are {products} GEMVs and GEMMs whose weights stream: each takes one"
    )]
    Bindings {
        /// Entries of the list.
        bindings: usize,
        /// GEMVs and GEMMs whose weights stream.
        products: usize,
    },
    /// An image that is not there.
    #[error("GEMV or GEMM number {number} takes weights {image}: there are {images}")]
    Image {
        /// Place in the list.
        number: usize,
        /// What it says.
        image: u32,
        /// Images.
        images: usize,
    },
    /// A window of a size MEMCPY cannot use.
    #[error(
        "window {number} {direction} has {size_bytes} bytes: legal are multiples of {WORD_BYTES} up to {}",
        most_bytes()
    )]
    WindowSize {
        /// Its number.
        number: u32,
        /// Its direction.
        direction: Direction,
        /// Its size.
        size_bytes: u64,
    },
    /// Two windows of one number.
    #[error("there are two windows {number} {direction}")]
    WindowTwice {
        /// Its number.
        number: u32,
        /// Its direction.
        direction: Direction,
    },
    /// A host operation after the end, or before the one before it.
    #[error("host operation {index} is at instruction {position}: legal are {least} to {most}")]
    HostPosition {
        /// Which one.
        index: usize,
        /// Its position.
        position: u32,
        /// That of the one before it.
        least: u32,
        /// Instructions.
        most: usize,
    },
    /// An extension in a program without.
    #[error("instruction {index} is CVO {function}, and the program says that it uses no extensions")]
    Extension {
        /// Which instruction.
        index: usize,
        /// Its function.
        function: &'static str,
    },
}

/// Bytes that MEMCPY reaches of a window.
pub(crate) const fn most_bytes() -> u64 {
    WINDOW_UNITS as u64 * WORD_BYTES as u64
}

impl Program {
    /// Every rule across its parts.
    ///
    /// # Errors
    ///
    /// [`ProgramError`] for the first rule that does not hold: as many bindings as products, to images that
    /// exist; windows once each and of a legal size; host operations within the program; extensions only
    /// where they are declared.
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

    /// The instructions between host operations: every range, with the operations before it. The last
    /// range may be empty.
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

    /// The instructions before which the host does something, in rising order.
    pub fn syncs(&self) -> Vec<usize> {
        let mut syncs: Vec<usize> = self.host_ops.iter().map(|op| op.position as usize).collect();
        syncs.dedup();
        syncs
    }

    /// The instance it is for: one that comes with npukit, by the reading that it goes by.
    pub const fn preset(&self) -> &'static str {
        match (self.extensions, self.reading) {
            (false, Reading::Documents) => "reference",
            (true, Reading::Documents) => "extended",
            (false, Reading::Seed) => "reference+seed",
            (true, Reading::Seed) => "extended+seed",
        }
    }

    /// Binds its weights and windows, the latter filled with zeros.
    ///
    /// # Errors
    ///
    /// [`AccessError::Window`] for a window of a size that MEMCPY cannot use.
    pub fn bind(&self, machine: &mut Machine) -> Result<(), AccessError> {
        for &Window { number, direction, size_bytes, .. } in &self.windows {
            machine.bind_window(direction, number, vec![0; size_bytes.min(most_bytes()) as usize])?;
        }
        for image in self.bindings.iter().filter_map(|&image| self.images.get(image as usize)) {
            machine.bind_weights(Arc::clone(image));
        }
        Ok(())
    }

    /// The instance [`Program::preset`] names, with this program's number of L2 words and so on.
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
