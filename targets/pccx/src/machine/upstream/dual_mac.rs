//! Two products of one multiplier: [`DualMac`] packs two weights, accumulates, and takes both sums apart.

use super::normalise::{ACCUMULATOR_BITS, sign_extended};

/// The upper weight's place, and the bits of each sum.
const UPPER: u32 = 21;

/// An accumulator of 48 bits that holds two sums.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DualMac(u64);

impl DualMac {
    /// Adds the products of an activation with two weights, -8 to 7 each.
    pub fn accumulate(&mut self, upper: i8, lower: i8, activation: i8) {
        let packed = (i64::from(upper) << UPPER) + i64::from(lower);
        let sum = self.0.wrapping_add((packed * i64::from(activation)) as u64);
        self.0 = sum & ((1 << ACCUMULATOR_BITS) - 1);
    }

    /// What the accumulator holds when these are the sums.
    pub fn of_sums(upper: i64, lower: i64) -> Self {
        Self(((upper << UPPER).wrapping_add(lower) as u64) & ((1 << ACCUMULATOR_BITS) - 1))
    }

    /// The accumulator.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// The sum of the lower weight's products; wrong beyond 21 bits.
    pub const fn lower(self) -> i32 {
        field(self.0 as i64)
    }

    /// The sum of the upper weight's products: a negative lower sum has borrowed one.
    pub const fn upper(self) -> i32 {
        field(sign_extended(self.0) >> UPPER) + (self.lower() < 0) as i32
    }
}

/// The lowest 21 bits, signed.
const fn field(bits: i64) -> i32 {
    ((bits << (64 - UPPER)) >> (64 - UPPER)) as i32
}
