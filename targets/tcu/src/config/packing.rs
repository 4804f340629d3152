//! [`Packing`]: layout of the vectors of a DRAM bank in the words of its bus.

use crate::config::{ClockError, Config};

/// Words of the longest burst.
const LONGEST: u64 = 256;

/// Vectors are contiguous in a bank, independent of the bus: vector `a` starts at byte `a *
/// vector_bytes` of the window.
///
/// If the vector size is not a multiple of the word, a vector may begin and end within a word that
/// it shares with its neighbors. Bursts consist of whole words; of the first and last word only the
/// vectors' own bytes are read or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Packing {
    /// Bytes of a vector.
    pub vector_bytes: u64,
    /// Bytes of a word.
    pub word_bytes: u64,
}

/// Words that contain a range of consecutive vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Words {
    /// First byte of the first word.
    pub address: u64,
    /// Bytes of that word before the first vector.
    pub skipped: u64,
    /// Number of words.
    pub count: u64,
}

impl Packing {
    /// Creates the packing of `config` on a bus of `bus_bits` bits, a power of two and at least 8.
    pub fn new(config: &Config, bus_bits: u32) -> Self {
        Self { vector_bytes: (config.vector_bits() / 8).max(1), word_bytes: u64::from(bus_bits / 8).max(1) }
    }

    /// Creates the packing on a bus as specified in a file.
    ///
    /// # Errors
    ///
    /// An unsupported bus width, or a vector that does not fit in a burst.
    pub fn checked(config: &Config, axi_bits: u32) -> Result<Self, ClockError> {
        if !axi_bits.is_power_of_two() || !(8..=1024).contains(&axi_bits) {
            return Err(ClockError::Bus { axi_bits });
        }
        let packing = Self::new(config, axi_bits);
        if packing.longest() == 0 {
            return Err(ClockError::Beats { vector_bits: config.vector_bits(), axi_bits });
        }
        Ok(packing)
    }

    /// Returns whether vectors are whole words.
    pub const fn is_whole(self) -> bool {
        self.vector_bytes.is_multiple_of(self.word_bytes)
    }

    /// Returns the number of vectors in the longest burst, for any position of the first one; 0 if
    /// not even one fits.
    pub const fn longest(self) -> u64 {
        let skipped = if self.is_whole() { 0 } else { self.word_bytes - 1 };
        (LONGEST * self.word_bytes - skipped) / self.vector_bytes
    }

    /// Returns the cycles that a vector takes among others: one per word, at least one.
    pub const fn beats(self) -> u64 {
        self.vector_bytes.div_ceil(self.word_bytes)
    }

    /// Returns the words of `vectors` vectors, starting at vector `address`.
    pub const fn words(self, address: u64, vectors: u64) -> Words {
        let first = address.wrapping_mul(self.vector_bytes);
        let skipped = if self.is_whole() { 0 } else { first % self.word_bytes };
        let count = (skipped + vectors * self.vector_bytes).div_ceil(self.word_bytes);
        Words { address: first.wrapping_sub(skipped), skipped, count }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(vector_bytes: u64, word_bytes: u64) -> Packing {
        Packing { vector_bytes, word_bytes }
    }

    #[test]
    fn vectors_lie_behind_each_other_whatever_the_words_are() {
        // Vectors have three scalars of 2 bytes, words have 16 bytes. Vector 5 has bytes 30 to 35:
        // the end of word 1 and the beginning of word 2.
        let packing = of(6, 16);
        assert_eq!(packing.words(5, 1), Words { address: 16, skipped: 14, count: 2 });
        assert_eq!(packing.words(0, 8), Words { address: 0, skipped: 0, count: 3 });
        assert_eq!((packing.is_whole(), packing.beats()), (false, 1));
        assert_eq!(of(24, 16).words(1, 1), Words { address: 16, skipped: 8, count: 2 });
        assert_eq!(of(16, 16).words(7, 3), Words { address: 112, skipped: 0, count: 3 });
    }

    #[test]
    fn a_burst_has_256_words_wherever_it_begins() {
        assert_eq!(of(16, 16).longest(), 256);
        assert_eq!(of(32, 16).longest(), 128);
        assert_eq!(of(1024, 4).longest(), 1);
        assert_eq!(of(1024, 2).longest(), 0);
        for (vector, word) in [(6, 16), (24, 16), (3, 128), (255, 128), (510, 4)] {
            let packing = of(vector, word);
            let words = (0..word).map(|address| packing.words(address, packing.longest()).count);
            assert!(words.max() <= Some(LONGEST), "{packing:?}");
        }
    }
}
