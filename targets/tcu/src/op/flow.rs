//! [`Flow`]: what an instruction reads and writes, and the way its vectors take through the machine.
//!
//! Each instruction says it once, in [`Op::flow`](super::Op::flow); checks, hazards, estimator, clock, listing and
//! reports go by it instead of by instruction.

use super::{SimdSub, Strided};
use crate::fault::Memory;

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
    /// Into a lookup table, an extension of the emulator that the published hardware does not have.
    Tables,
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

    /// Which of its vectors it writes to `address` of `memory`.
    pub fn writes(&self, memory: Memory, address: u64) -> Option<u64> {
        let Strided { address: first, stride_log2 } = self.written(memory)?;
        let distance = address.checked_sub(first)?;
        let k = match distance {
            0 => 0,
            _ => distance.checked_shr(stride_log2).filter(|k| k << stride_log2 == distance)?,
        };
        (k < self.size).then_some(k)
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
            Path::Decoder | Path::Tables => 0,
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
