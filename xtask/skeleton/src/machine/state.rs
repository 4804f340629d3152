//! [`State`] of the machine, and [`FaultKind`], the reasons why it stops.

use npukit_numeric::FixedFormat;
use npukit_target::UninitMemory;
use npukit_target::sim::{Flat, garbage};
use thiserror::Error;

/// Format of every number.
pub const FORMAT: FixedFormat = FixedFormat { width: 16, binary_point: 8 };

/// Whether memory represents a number within half a unit of the last place.
pub fn fits(x: f32) -> bool {
    let rounded = (f64::from(x) * FORMAT.one() as f64 + 0.5).floor();
    (FORMAT.min() as f64..=FORMAT.max() as f64).contains(&rounded)
}

/// Architectural state.
#[derive(Clone, Debug)]
pub struct State {
    /// Memory of numbers in [`FORMAT`].
    memory: Flat<i16>,
    words: u32,
    /// Number of results that saturated so far.
    pub saturated: u64,
}

/// Reason why an instruction cannot be executed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FaultKind {
    /// An access beyond the memory.
    #[error("{n} numbers starting at {address} end beyond the memory of {words} numbers")]
    Range {
        /// Address of the first number.
        address: u32,
        /// Number of accessed numbers.
        n: u32,
        /// Size of the memory in numbers.
        words: u32,
    },
    /// A read of an unwritten number.
    #[error("number {address} was never written")]
    Unwritten {
        /// Address of the number.
        address: u64,
    },
}

impl State {
    /// Creates a state with a memory of `words` numbers, at most 65,536. `unset` is the content of
    /// unwritten memory.
    pub fn new(words: u32, unset: UninitMemory) -> Self {
        let mut memory = Flat::new(words.into(), 1).expect("a checked configuration has a small memory");
        match unset {
            UninitMemory::Zero => {}
            UninitMemory::Garbage(seed) => {
                let mut bits = garbage(seed);
                memory.fill_with(|| bits() as i16);
            }
            UninitMemory::Poison => memory.poison(),
        }
        Self { memory, words, saturated: 0 }
    }

    /// Reads `n` numbers.
    pub fn read(&self, address: u32, n: u32) -> Result<Vec<i16>, FaultKind> {
        self.in_memory(address, n)?;
        match self.memory.unwritten(address.into(), n.into()) {
            Some(address) => Err(FaultKind::Unwritten { address }),
            None => Ok(self.memory.vectors(address.into(), n.into()).to_vec()),
        }
    }

    /// Returns `n` numbers for writing.
    pub fn write(&mut self, address: u32, n: u32) -> Result<&mut [i16], FaultKind> {
        self.in_memory(address, n)?;
        Ok(self.memory.vectors_mut(address.into(), n.into()))
    }

    const fn in_memory(&self, address: u32, n: u32) -> Result<(), FaultKind> {
        if address <= self.words && n <= self.words - address {
            return Ok(());
        }
        Err(FaultKind::Range { address, n, words: self.words })
    }
}
