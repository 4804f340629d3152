//! What the machine holds: [`State`]; and why it stops: [`FaultKind`].

use npukit_numeric::FixedFormat;
use npukit_target::Unset;
use npukit_target::sim::{Flat, garbage};
use thiserror::Error;

/// The format of every number.
pub const FORMAT: FixedFormat = FixedFormat { width: 16, binary_point: 8 };

/// The architectural state.
#[derive(Clone, Debug)]
pub struct State {
    /// Numbers, in [`FORMAT`].
    memory: Flat<i16>,
    words: u32,
    /// Results so far that did not fit.
    pub saturated: u64,
}

/// Why an instruction cannot be executed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum FaultKind {
    /// It leaves memory.
    #[error("{n} numbers from {address} on end beyond the {words} of memory")]
    Range {
        /// The first number.
        address: u32,
        /// How many.
        n: u32,
        /// How many there are.
        words: u32,
    },
    /// It reads what nobody has written.
    #[error("number {address} was never written")]
    Unwritten {
        /// Its address.
        address: u64,
    },
}

impl State {
    /// A memory of `words` numbers, at most 65,536, that holds what `unset` says.
    pub fn new(words: u32, unset: Unset) -> Self {
        let mut memory = Flat::new(words.into(), 1).expect("a checked configuration has a small memory");
        match unset {
            Unset::Zero => {}
            Unset::Garbage(seed) => {
                let mut bits = garbage(seed);
                memory.fill_with(|| bits() as i16);
            }
            Unset::Poison => memory.poison(),
        }
        Self { memory, words, saturated: 0 }
    }

    /// `n` numbers to read.
    pub fn read(&self, address: u32, n: u32) -> Result<Vec<i16>, FaultKind> {
        self.in_memory(address, n)?;
        match self.memory.unwritten(address.into(), n.into()) {
            Some(address) => Err(FaultKind::Unwritten { address }),
            None => Ok(self.memory.vectors(address.into(), n.into()).to_vec()),
        }
    }

    /// `n` numbers to write.
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
