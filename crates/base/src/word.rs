//! [`Word`]: an instruction as one unsigned integer. [`BitRange`]: position of a field in it.

use std::fmt;
use std::ops::{BitAnd, BitOr, Not};

/// Widest instruction, in bits.
pub const WORD_BITS: u32 = 256;
/// Widest instruction, in bytes.
pub const WORD_BYTES: usize = 32;
const LIMB_BITS: u32 = u64::BITS;

/// Consecutive bits of a word; bit 0 is the least significant. Width 0 is legal: such a field has
/// only the value 0 (the address of a memory of depth 1 has no bits).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct BitRange {
    /// Lowest bit.
    pub lo: u32,
    /// Number of bits, at most 64.
    pub width: u32,
}

impl BitRange {
    /// Returns `width` bits starting at bit `lo`.
    pub const fn new(lo: u32, width: u32) -> Self {
        Self { lo, width }
    }

    /// One past the highest bit.
    pub const fn end(self) -> u32 {
        self.lo.saturating_add(self.width)
    }

    /// Largest value of the bits.
    #[inline]
    pub const fn max(self) -> u64 {
        match self.width {
            0 => 0,
            width if width >= LIMB_BITS => u64::MAX,
            width => (1 << width) - 1,
        }
    }
}

/// Formats as `12:5`, high bit first, as in hardware documents; a single bit is `5`.
impl fmt::Display for BitRange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.width {
            0 => f.write_str("-"),
            1 => write!(f, "{}", self.lo),
            width => write!(f, "{}:{}", self.lo + width - 1, self.lo),
        }
    }
}

/// Unsigned integer of up to 256 bits. Bits past the end read as 0, and writes to them are ignored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Word([u64; 4]);

impl Word {
    /// Word without set bits.
    pub const ZERO: Self = Self([0; 4]);

    /// Reads up to 32 bytes, least significant first; further bytes are ignored.
    #[inline]
    pub fn from_le_bytes(bytes: &[u8]) -> Self {
        let mut padded = [0; WORD_BYTES];
        let size = bytes.len().min(WORD_BYTES);
        padded[..size].copy_from_slice(&bytes[..size]);
        let limb = |i: usize| {
            let mut limb = [0; 8];
            limb.copy_from_slice(&padded[8 * i..8 * i + 8]);
            u64::from_le_bytes(limb)
        };
        Self([limb(0), limb(1), limb(2), limb(3)])
    }

    /// Returns all 32 bytes, least significant first.
    #[inline]
    pub fn to_le_bytes(self) -> [u8; WORD_BYTES] {
        let mut bytes = [0; WORD_BYTES];
        for (chunk, limb) in bytes.chunks_exact_mut(8).zip(self.0) {
            chunk.copy_from_slice(&limb.to_le_bytes());
        }
        bytes
    }

    /// Returns the value of the bits in `range`.
    #[inline]
    pub fn get(self, range: BitRange) -> u64 {
        let (limb, shift) = ((range.lo / LIMB_BITS) as usize, range.lo % LIMB_BITS);
        let low = self.limb(limb) >> shift;
        let high = if shift == 0 { 0 } else { self.limb(limb + 1) << (LIMB_BITS - shift) };
        (low | high) & range.max()
    }

    /// Replaces the bits in `range` by the low bits of `value`.
    #[inline]
    pub fn set(&mut self, range: BitRange, value: u64) {
        let (limb, shift) = ((range.lo / LIMB_BITS) as usize, range.lo % LIMB_BITS);
        let (mask, value) = (range.max(), value & range.max());
        self.replace(limb, mask << shift, value << shift);
        if shift != 0 {
            self.replace(limb + 1, mask >> (LIMB_BITS - shift), value >> (LIMB_BITS - shift));
        }
    }

    /// Returns the word with the bits in `range` replaced; the chainable form of [`Word::set`].
    #[must_use]
    #[inline]
    pub fn with(mut self, range: BitRange, value: u64) -> Self {
        self.set(range, value);
        self
    }

    /// Returns a word whose lowest `bits` bits are set.
    pub fn ones(bits: u32) -> Self {
        let limb = |i: u32| BitRange::new(0, bits.saturating_sub(i * LIMB_BITS).min(LIMB_BITS)).max();
        Self([limb(0), limb(1), limb(2), limb(3)])
    }

    /// Returns a word with the bits of `range` set.
    #[inline]
    pub fn mask(range: BitRange) -> Self {
        Self::ZERO.with(range, u64::MAX)
    }

    /// Whether no bit is set.
    #[inline]
    pub fn is_zero(self) -> bool {
        self == Self::ZERO
    }

    /// Returns the lowest 64 bits.
    #[inline]
    pub const fn low_u64(self) -> u64 {
        self.0[0]
    }

    /// Returns the set bits as ranges, lowest first.
    pub fn ranges(self) -> Vec<BitRange> {
        let mut ranges: Vec<BitRange> = Vec::new();
        for bit in (0..WORD_BITS).filter(|&bit| self.get(BitRange::new(bit, 1)) == 1) {
            match ranges.last_mut() {
                Some(last) if last.end() == bit => last.width += 1,
                _ => ranges.push(BitRange::new(bit, 1)),
            }
        }
        ranges
    }

    #[inline]
    fn limb(self, index: usize) -> u64 {
        self.0.get(index).copied().unwrap_or(0)
    }

    #[inline]
    fn replace(&mut self, index: usize, mask: u64, value: u64) {
        if let Some(limb) = self.0.get_mut(index) {
            *limb = *limb & !mask | value;
        }
    }
}

impl From<u64> for Word {
    #[inline]
    fn from(value: u64) -> Self {
        Self([value, 0, 0, 0])
    }
}

impl From<u32> for Word {
    #[inline]
    fn from(value: u32) -> Self {
        u64::from(value).into()
    }
}

impl BitAnd for Word {
    type Output = Self;
    #[inline]
    fn bitand(self, other: Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] & other.0[i]))
    }
}

impl BitOr for Word {
    type Output = Self;
    #[inline]
    fn bitor(self, other: Self) -> Self {
        Self(std::array::from_fn(|i| self.0[i] | other.0[i]))
    }
}

impl Not for Word {
    type Output = Self;
    #[inline]
    fn not(self) -> Self {
        Self(self.0.map(|limb| !limb))
    }
}

#[cfg(test)]
mod tests {
    use super::{BitRange, Word};
    use proptest::prelude::*;

    /// Reference implementation of `get`, bit by bit.
    fn get_slowly(word: Word, range: BitRange) -> u64 {
        let bytes = word.to_le_bytes();
        (range.lo..range.end().min(256)).fold(0, |value, bit| {
            let set = u64::from(bytes[bit as usize / 8] >> (bit % 8) & 1);
            value | set << (bit - range.lo)
        })
    }

    proptest! {
        #[test]
        fn reads_agree_with_the_slow_way(bytes: [u8; 32], lo in 0_u32..300, width in 0_u32..=64) {
            let (word, range) = (Word::from_le_bytes(&bytes), BitRange::new(lo, width));
            prop_assert_eq!(word.get(range), get_slowly(word, range));
        }

        #[test]
        fn writes_change_their_bits_only(bytes: [u8; 32], lo in 0_u32..192, width in 0_u32..=64, value: u64) {
            let (word, range) = (Word::from_le_bytes(&bytes), BitRange::new(lo, width));
            let written = word.with(range, value);
            prop_assert_eq!(written.get(range), value & range.max());
            let others = !Word::mask(range);
            prop_assert_eq!(written & others, word & others);
        }

        #[test]
        fn bytes_survive(bytes: [u8; 32]) {
            prop_assert_eq!(Word::from_le_bytes(&bytes).to_le_bytes(), bytes);
        }
    }

    #[test]
    fn ranges_are_named_high_bit_first() {
        let word = Word::mask(BitRange::new(3, 1)) | Word::mask(BitRange::new(60, 10));
        let names: Vec<String> = word.ranges().iter().map(ToString::to_string).collect();
        assert_eq!(names, ["3", "69:60"]);
        assert_eq!(Word::ones(70).ranges(), [BitRange::new(0, 70)]);
    }
}
