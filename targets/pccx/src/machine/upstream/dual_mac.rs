//! Two products with one multiplier: [`DualMac`] packs two weights, accumulates, and separates both
//! sums.

use super::normalize::{ACCUMULATOR_BITS, sign_extended};

/// Shift of the upper weight, and number of bits of each sum.
const UPPER: u32 = 21;

/// Accumulator of 48 bits that holds two sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DualMac(u64);

impl DualMac {
    /// Adds the products of an activation with two weights of -8 to 7.
    pub fn accumulate(&mut self, upper: i8, lower: i8, activation: i8) {
        let packed = (i64::from(upper) << UPPER) + i64::from(lower);
        let sum = self.0.wrapping_add((packed * i64::from(activation)) as u64);
        self.0 = sum & ((1 << ACCUMULATOR_BITS) - 1);
    }

    /// Returns the accumulator that holds these sums.
    pub fn of_sums(upper: i64, lower: i64) -> Self {
        Self(((upper << UPPER).wrapping_add(lower) as u64) & ((1 << ACCUMULATOR_BITS) - 1))
    }

    /// Returns the bits of the accumulator.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// Returns the sum of the lower weight's products; wrong if it exceeds 21 bits.
    pub const fn lower(self) -> i32 {
        field(self.0 as i64)
    }

    /// Returns the sum of the upper weight's products; corrected by the borrow of a negative lower
    /// sum.
    pub const fn upper(self) -> i32 {
        field(sign_extended(self.0) >> UPPER) + (self.lower() < 0) as i32
    }
}

/// Returns the lowest 21 bits as a signed number.
const fn field(bits: i64) -> i32 {
    ((bits << (64 - UPPER)) >> (64 - UPPER)) as i32
}
