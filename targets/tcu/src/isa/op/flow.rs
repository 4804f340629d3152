//! [`Flow`]: the reads and writes of an instruction, and the path of its vectors through the
//! machine.
//!
//! [`Op::flow`](super::Op::flow) is the only definition; checks, hazards, estimator, clock, listing
//! and reports use it instead of distinguishing instructions.

use std::ops::Range;

use super::{SimdSub, Strided};
use crate::isa::op::Memory;

/// Path of an instruction's vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// No vectors: only the decoder executes the instruction.
    Decoder,
    /// Through the array, which multiplies them by its weights.
    Array,
    /// Into the weights of the array.
    Weights,
    /// One vector through the ALUs.
    Alus(SimdSub),
    /// From one memory to another.
    Copy,
    /// Into the lookup table with this number, an extension that the released hardware does not
    /// have.
    Tables(u64),
}

/// Location of vectors: a memory and addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Memory of the vectors.
    pub memory: Memory,
    /// Addresses of the vectors.
    pub run: Strided,
}

/// An instruction's use of vectors in memories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Path of the vectors.
    pub path: Path,
    /// Number of vectors, the same for source and target.
    pub size: u64,
    /// Vectors that are read; `None` for zeros, or if nothing is read.
    pub source: Option<Place>,
    /// Vectors that are written, if any.
    pub target: Option<Place>,
    /// Whether it adds to the target, which it then also reads, instead of overwriting it.
    pub adds: bool,
}

impl Flow {
    /// The flow of an instruction that reads and writes nothing.
    pub(super) const NONE: Self =
        Self { path: Path::Decoder, size: 0, source: None, target: None, adds: false };

    /// Returns source and target in the order of the fields of a word: local memory first.
    #[inline]
    pub fn places(&self) -> [Option<Place>; 2] {
        let Self { source, target, .. } = *self;
        let is_local = target.is_some_and(|place| place.memory == Memory::Local);
        if is_local { [target, source] } else { [source, target] }
    }

    /// Returns the first of its vectors that it writes to one of these addresses of `memory`.
    pub fn writes(&self, memory: Memory, addresses: Range<u64>) -> Option<u64> {
        let Strided { address, stride_log2 } = self.written(memory)?;
        let ahead = addresses.start.saturating_sub(address);
        let (k, distance) = match ahead {
            0 => (0, 0),
            _ => {
                let step = 1u64.checked_shl(stride_log2)?;
                let k = ahead.div_ceil(step);
                (k, k.checked_mul(step)?)
            }
        };
        (k < self.size && addresses.contains(&address.checked_add(distance)?)).then_some(k)
    }

    /// Returns the places that must have been written: the source, and the target if it adds to it.
    #[inline]
    pub fn reads(&self) -> impl Iterator<Item = Place> + use<> {
        [self.source, self.target.filter(|_| self.adds)].into_iter().flatten()
    }

    /// Returns the vectors of `memory` that it writes.
    #[inline]
    pub fn written(&self, memory: Memory) -> Option<Strided> {
        self.target.filter(|place| place.memory == memory).map(|place| place.run)
    }

    /// Returns the vectors of `memory` that it reads, apart from those it adds to.
    #[inline]
    pub fn read(&self, memory: Memory) -> Option<Strided> {
        self.source.filter(|place| place.memory == memory).map(|place| place.run)
    }

    /// Returns the number of vectors for reports and the estimator, which do not include vectors of
    /// lookup tables.
    pub const fn vectors(&self) -> u64 {
        match self.path {
            Path::Decoder | Path::Tables(_) => 0,
            Path::Array | Path::Weights | Path::Alus(_) | Path::Copy => self.size,
        }
    }

    /// Returns the DRAM bank that it uses.
    #[inline]
    pub fn bank(&self) -> Option<usize> {
        let bank = |place: Option<Place>| place?.memory.bank();
        bank(self.source).or_else(|| bank(self.target))
    }
}

impl Memory {
    /// Returns the vectors of the memory at `run` as a place.
    pub(super) const fn at(self, run: Strided) -> Place {
        Place { memory: self, run }
    }

    /// Returns the bank number of a DRAM bank; `None` for other memories.
    pub const fn bank(self) -> Option<usize> {
        match self {
            Self::Dram0 => Some(0),
            Self::Dram1 => Some(1),
            Self::Local | Self::Accumulators => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Compares with a loop over all vectors.
    #[test]
    fn what_is_written_is_found() {
        let flow = |address, stride_log2, size| {
            let target = Some(Memory::Dram0.at(Strided { address, stride_log2 }));
            Flow { path: Path::Copy, size, source: None, target, adds: false }
        };
        for stride_log2 in 0..4 {
            for (first, end) in [(0, 5), (3, 4), (9, 9), (10, 30), (21, 23)] {
                let flow = flow(7, stride_log2, 3);
                let expected = (0..3).find(|k| (first..end).contains(&(7 + (k << stride_log2))));
                assert_eq!(flow.writes(Memory::Dram0, first..end), expected, "{stride_log2} {first}..{end}");
                assert_eq!(flow.writes(Memory::Dram1, first..end), None);
            }
        }
        assert_eq!(flow(7, 64, 1).writes(Memory::Dram0, 7..8), Some(0));
        assert_eq!(flow(7, 64, u64::MAX).writes(Memory::Dram0, 8..u64::MAX), None);
        assert_eq!(flow(u64::MAX - 1, 1, u64::MAX).writes(Memory::Dram0, u64::MAX - 1..u64::MAX), Some(0));
    }
}
