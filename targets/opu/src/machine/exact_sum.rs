//! Exact sums: [`ExactSum`], a number wide enough for every sum of the machine, without rounding.
//!
//! The smallest step of a product is `2^-298` (fp32 twice), shifted by at most 128 in either
//! direction, and the largest sum is below `2^400`: 896 bits with 448 after the binary point hold
//! all of them.

/// Number of 64-bit words.
const LIMBS: usize = 14;
/// Number of bits after the binary point.
const FRACTION: i32 = 448;

/// Sum of terms `significand * 2^exponent`, in two's complement, lowest word first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExactSum([u64; LIMBS]);

impl ExactSum {
    /// Zero.
    pub const ZERO: Self = Self([0; LIMBS]);

    /// Adds `significand * 2^exponent`; `exponent` must be -448 to 380.
    pub fn add(&mut self, significand: i64, exponent: i32) {
        let bit = exponent + FRACTION;
        let (limb, offset) = ((bit / 64) as usize, bit % 64);
        let wide = i128::from(significand) << offset;
        // All higher words are copies of the sign.
        let fill = if significand < 0 { u64::MAX } else { 0 };
        let words = [wide as u64, (wide >> 64) as u64].into_iter().chain(std::iter::repeat(fill));
        let mut carry = false;
        for (limb, word) in self.0.iter_mut().skip(limb).zip(words) {
            let (sum, over) = limb.overflowing_add(word);
            let (sum, over_carry) = sum.overflowing_add(u64::from(carry));
            *limb = sum;
            carry = over | over_carry;
        }
    }

    /// Whether the number is 0.
    pub fn is_zero(&self) -> bool {
        self.0 == [0; LIMBS]
    }

    /// Returns `floor(self * 2^-exponent)`, clamped to 64 bits; `exponent` must be -448 to 380.
    pub fn floor(&self, exponent: i32) -> i64 {
        let bit = exponent + FRACTION;
        let (first, offset) = ((bit / 64) as usize, bit % 64);
        let fill = if self.is_negative() { u64::MAX } else { 0 };
        let word = |index: usize| self.0.get(index).copied().unwrap_or(fill);
        let low = u128::from(word(first)) | u128::from(word(first + 1)) << 64;
        let value = ((low >> offset) as u64).cast_signed();
        // With a bit offset, 64 bits take part of the second word; all above must be copies of the
        // sign.
        let rest = (u128::from(word(first + 1)) | u128::from(word(first + 2)) << 64) >> offset;
        let above = rest as u64 == fill && self.0.iter().skip(first + 2).all(|&word| word == fill);
        match above && (value < 0) == self.is_negative() {
            true => value,
            false if self.is_negative() => i64::MIN,
            false => i64::MAX,
        }
    }

    /// Returns `floor(log2(|self|))`; `None` for 0.
    pub fn exponent(&self) -> Option<i32> {
        let magnitude = if self.is_negative() { self.negated() } else { *self };
        let (index, limb) = magnitude.0.iter().enumerate().rev().find(|(_, limb)| **limb != 0)?;
        Some(index as i32 * 64 + 63 - limb.leading_zeros() as i32 - FRACTION)
    }

    const fn is_negative(&self) -> bool {
        self.0[LIMBS - 1] >> 63 == 1
    }

    fn negated(&self) -> Self {
        let mut negated = Self(self.0.map(|limb| !limb));
        negated.add(1, -FRACTION);
        negated
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn sum(terms: &[(i64, i32)]) -> ExactSum {
        let mut sum = ExactSum::ZERO;
        terms.iter().for_each(|&(significand, exponent)| sum.add(significand, exponent));
        sum
    }

    #[test]
    fn nothing_is_lost_between_the_ends() {
        let sum = sum(&[(1, 380), (1, -448), (-1, 380)]);
        assert_eq!((sum.floor(-448), sum.exponent(), sum.floor(0)), (1, Some(-448), 0));
        assert_eq!(self::sum(&[(-1, -448)]).floor(0), -1);
        assert_eq!(self::sum(&[(-1, 300)]).floor(0), i64::MIN);
        assert_eq!(self::sum(&[(1, 63)]).floor(0), i64::MAX);
        assert_eq!(self::sum(&[(1, 62), (1, 62), (-1, 0)]).floor(0), i64::MAX);
        assert_eq!(self::sum(&[(-1, 62), (-1, 62)]).floor(0), i64::MIN);
        assert_eq!(self::sum(&[(5, 0), (-5, 0)]), ExactSum::ZERO);
    }

    proptest! {
        #[test]
        fn agrees_with_128_bits(
            terms in prop::collection::vec((any::<i32>(), -30..30i32), 0..8), exponent in -40..40i32,
        ) {
            let terms: Vec<(i64, i32)> = terms.into_iter().map(|(s, e)| (s.into(), e)).collect();
            // The reference computes in units of 2^-40.
            let wide: i128 = terms.iter().map(|&(s, e)| i128::from(s) << (e + 40)).sum();
            let floor = (wide >> (exponent + 40)).clamp(i64::MIN.into(), i64::MAX.into());
            let sum = sum(&terms);
            prop_assert_eq!(i128::from(sum.floor(exponent)), floor);
            let log2 = (wide != 0).then(|| wide.unsigned_abs().ilog2() as i32 - 40);
            prop_assert_eq!(sum.exponent(), log2);
        }
    }
}
