//! Allocator of L2: [`Memory`].

use npukit_lower::Free;

use crate::config::WORD_LANES;

/// Values in L2: flat, row-major, starting at a word. The word before them also belongs to the
/// region: SCALE reads its scalar there (specification 5.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// Word of the first value.
    pub base: u32,
    /// Number of BF16 values.
    pub values: usize,
}

impl Region {
    /// Returns the word of value `index`, which must be the first of a word.
    pub const fn at(self, index: usize) -> u32 {
        self.base + (index / WORD_LANES) as u32
    }

    /// Returns the word before the values, which belongs to the region.
    pub const fn head(self) -> u32 {
        self.base - 1
    }

    /// Returns the number of words, including the word before the values.
    pub const fn words(self) -> u32 {
        self.values.div_ceil(WORD_LANES) as u32 + 1
    }
}

/// Allocator state: the free words of L2.
#[derive(Clone, Debug)]
pub struct Memory {
    free: Free,
    in_use: u64,
    /// Maximum number of words in use at once.
    pub maximum: u64,
    /// Total number of words of all allocations.
    pub aggregate: u64,
}

impl Memory {
    pub fn new(words: u32) -> Self {
        Self { free: Free::new(0..words.into()), in_use: 0, maximum: 0, aggregate: 0 }
    }

    /// Allocates the lowest free place for some values.
    pub fn allocate(&mut self, values: usize) -> Option<Region> {
        let words = values.div_ceil(WORD_LANES) as u64 + 1;
        let start = self.free.take(words)?;
        self.in_use += words;
        self.maximum = self.maximum.max(self.in_use);
        self.aggregate += words;
        // All words of L2 can be addressed.
        Some(Region { base: start as u32 + 1, values })
    }

    pub fn release(&mut self, region: Region) {
        let (start, words) = (u64::from(region.head()), u64::from(region.words()));
        self.in_use -= words;
        self.free.give(start..start + words);
    }

    /// Returns the largest number of values that can be allocated.
    pub fn largest(&self) -> usize {
        self.free.largest().saturating_sub(1) as usize * WORD_LANES
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_region_owns_the_word_before_it() {
        let mut memory = Memory::new(10);
        let first = memory.allocate(9).unwrap();
        assert_eq!((first.base, first.head(), first.at(8)), (1, 0, 2));
        let second = memory.allocate(8).unwrap();
        assert_eq!(second.base, 4);
        assert_eq!((memory.largest(), memory.maximum), (32, 5));
        assert!(memory.allocate(40).is_none());
        memory.release(first);
        memory.release(second);
        assert_eq!((memory.largest(), memory.maximum, memory.aggregate), (72, 5, 5));
    }

    /// Released words no longer count: 3 and 2 words, then 2 and 5.
    #[test]
    fn the_most_in_use_at_once_is_known() {
        let mut memory = Memory::new(20);
        let first = memory.allocate(16).unwrap();
        memory.allocate(8).unwrap();
        memory.release(first);
        assert_eq!(memory.allocate(32).map(|region| region.base), Some(6));
        assert_eq!((memory.maximum, memory.aggregate), (7, 10));
        // The gap that the first region leaves is used for the next region that fits.
        assert_eq!(memory.allocate(16), Some(first));
        assert_eq!((memory.maximum, memory.aggregate), (10, 13));
    }

    proptest! {
        /// Regions do not overlap, and released words are free again.
        #[test]
        fn regions_are_apart(sizes in prop::collection::vec((1usize..40, any::<bool>()), 1..40)) {
            let mut memory = Memory::new(60);
            let mut held: Vec<Region> = Vec::new();
            for (size, release) in sizes {
                if let Some(region) = memory.allocate(size) {
                    let words = |region: Region| region.head()..region.head() + region.words();
                    for &other in &held {
                        let (a, b) = (words(region), words(other));
                        prop_assert!(a.end <= b.start || b.end <= a.start);
                    }
                    prop_assert!(words(region).end <= 60);
                    held.push(region);
                }
                if release && !held.is_empty() {
                    memory.release(held.remove(0));
                }
            }
            held.into_iter().for_each(|region| memory.release(region));
            prop_assert_eq!(memory.largest(), 59 * 8);
        }
    }
}
