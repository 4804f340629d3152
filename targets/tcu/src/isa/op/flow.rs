//! [`Flow`]: what an instruction reads and writes, and the way its vectors take through the machine.
//!
//! Each instruction says it once, in [`Op::flow`](super::Op::flow); checks, hazards, estimator, clock, listing and
//! reports go by it instead of by instruction.

use std::ops::Range;

use super::{SimdSub, Strided};
use crate::isa::op::Memory;

/// The way of an instruction's vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// No vectors: the decoder obeys the instruction alone.
    Decoder,
    /// Through the array, which multiplies them by its weights.
    Array,
    /// Into the weights of the array.
    Weights,
    /// One vector through the ALUs.
    Alus(SimdSub),
    /// From one memory to another.
    Copy,
    /// Into the lookup table of this number, an extension that the released hardware does not have.
    Tables(u64),
}

/// Where vectors lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The memory.
    pub memory: Memory,
    /// Their addresses.
    pub run: Strided,
}

/// What an instruction does with the vectors of the memories.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Their way.
    pub path: Path,
    /// How many: of the source and of the target alike.
    pub size: u64,
    /// What is read; none for zeros, or when nothing is.
    pub source: Option<Place>,
    /// What is written, if anything.
    pub target: Option<Place>,
    /// Adds to the target, which it then reads too, instead of overwriting it.
    pub adds: bool,
}

impl Flow {
    /// Nothing is read or written.
    pub(super) const NONE: Self =
        Self { path: Path::Decoder, size: 0, source: None, target: None, adds: false };

    /// Source and target as the fields of a word stand: local memory first.
    #[inline]
    pub fn places(&self) -> [Option<Place>; 2] {
        let Self { source, target, .. } = *self;
        let is_local = target.is_some_and(|place| place.memory == Memory::Local);
        if is_local { [target, source] } else { [source, target] }
    }

    /// The first of its vectors that it writes to one of these addresses of `memory`.
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

    /// What it needs to have been set: the source, and the target that it adds to.
    #[inline]
    pub fn reads(&self) -> impl Iterator<Item = Place> + use<> {
        [self.source, self.target.filter(|_| self.adds)].into_iter().flatten()
    }

    /// The vectors that it writes of `memory`.
    #[inline]
    pub fn written(&self, memory: Memory) -> Option<Strided> {
        self.target.filter(|place| place.memory == memory).map(|place| place.run)
    }

    /// The vectors that it reads of `memory`, beside those that it adds to.
    #[inline]
    pub fn read(&self, memory: Memory) -> Option<Strided> {
        self.source.filter(|place| place.memory == memory).map(|place| place.run)
    }

    /// Vectors as reports and the estimator count them: those of lookup tables are not among them.
    pub const fn vectors(&self) -> u64 {
        match self.path {
            Path::Decoder | Path::Tables(_) => 0,
            Path::Array | Path::Weights | Path::Alus(_) | Path::Copy => self.size,
        }
    }

    /// The DRAM bank that it uses.
    #[inline]
    pub fn bank(&self) -> Option<usize> {
        let bank = |place: Option<Place>| place?.memory.bank();
        bank(self.source).or_else(|| bank(self.target))
    }
}

impl Memory {
    /// The vectors of the memory at `run`.
    pub(super) const fn at(self, run: Strided) -> Place {
        Place { memory: self, run }
    }

    /// Its number, for a DRAM bank.
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

    /// Judged by going through all vectors.
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
