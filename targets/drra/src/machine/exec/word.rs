//! [`Word`]: number type of the machine. Implementations are the fabric's own 16-bit words and, for
//! example, elements of a prime field.
//!
//! Sequencers, addresses, routes and timing do not depend on the number type. The trait has the
//! operations of a dpu and of the driver.

use std::fmt::Debug;

use npukit_numeric::{Quantized, Ties, quantized};

use crate::isa::op::DpuMode;
use crate::machine::exec::{amount, clip, nacu, pick, saturate, scale_down};

/// Word with the operations of a dpu.
pub trait Word: Copy + Default + PartialEq + Debug + Send + Sync + 'static {
    /// Type of an accumulator.
    type Sum: Copy + Default + PartialEq + Debug + Send + Sync + 'static;

    /// Content of unwritten memory, from random `bits`.
    fn garbage(bits: u64) -> Self;
    /// Creates a word from a known integer.
    fn constant(word: i16) -> Self;
    /// Creates a word whose saturating sums are intended.
    fn limit(word: i16) -> Self;
    /// Marks the word as a value of the graph, without information on how it was computed.
    fn made(self) -> Self;
    /// Shifts right by `places` with rounding, or left if negative.
    fn shifted(self, places: i32) -> Self;
    /// Whether the word is at an end of the range.
    fn is_end(self) -> bool;
    /// Converts the word to an accumulator.
    fn wide(self) -> Self::Sum;
    /// Converts a sum with at most `places` additional fraction bits to a word.
    fn narrow(sum: Self::Sum, places: u32) -> Self;

    /// Returns `self + other`, saturated.
    fn plus(self, other: Self) -> Self;
    /// Returns `self - other`, saturated.
    fn minus(self, other: Self) -> Self;
    /// Returns `|self - other|`, saturated.
    fn distance(self, other: Self) -> Self;
    /// Returns the product, which loses `fraction_bits` fraction bits.
    fn times(self, other: Self, fraction_bits: u32) -> Self;
    /// Returns `self * 2^immediate` in an accumulator; `immediate` is clamped to 0 to 31.
    fn loaded(self, immediate: i16) -> Self::Sum;
    /// Shifts by the sum of a word and an immediate, to the left or to the right.
    fn shifted_by(self, other: Self, immediate: i16, is_left: bool) -> Self;
    /// Returns the maximum, or the minimum if the lowest bit of the immediate is set.
    fn picked(self, other: Self, immediate: i16) -> Self;
    /// Returns a function of a Q4.11 number.
    fn function(self, mode: DpuMode) -> Self;
    /// Returns `self` if it is at least 0, otherwise its product with a Q4.11 slope.
    fn leaky(self, slope: i16) -> Self;
    /// Returns a quotient with 11 fraction bits.
    fn quotient(dividend: Self::Sum, divisor: Self::Sum) -> Self;
    /// Scales up, or down with rounding, by the power of two that an immediate specifies.
    fn scaled(self, immediate: i16, is_up: bool) -> Self;

    /// Returns `sum + product` in the accumulator of `mac`, and whether it saturated.
    fn mac(sum: Self::Sum, factors: [Self; 2], fraction_bits: u32) -> (Self::Sum, bool);
    /// Returns `sum + a + b` in an accumulator of `bits` bits, and whether it saturated.
    fn added(sum: Self::Sum, addends: [Self; 2], bits: u32) -> (Self::Sum, bool);
    /// Returns `sum + a * b` in an accumulator of `bits` bits, and whether it saturated.
    fn exact_mac(sum: Self::Sum, factors: [Self; 2], bits: u32) -> (Self::Sum, bool);
}

impl Word for i16 {
    type Sum = i64;

    #[inline]
    fn garbage(bits: u64) -> Self {
        bits as Self
    }
    #[inline]
    fn constant(word: i16) -> Self {
        word
    }
    #[inline]
    fn limit(word: i16) -> Self {
        word
    }
    #[inline]
    fn made(self) -> Self {
        self
    }
    fn shifted(self, places: i32) -> Self {
        integer(self.into(), -places)
    }
    fn is_end(self) -> bool {
        matches!(self, Self::MAX | Self::MIN)
    }
    #[inline]
    fn wide(self) -> i64 {
        self.into()
    }
    #[inline]
    fn narrow(sum: i64, places: u32) -> Self {
        saturate(scale_down(sum, places))
    }
    #[inline]
    fn plus(self, other: Self) -> Self {
        self.saturating_add(other)
    }
    #[inline]
    fn minus(self, other: Self) -> Self {
        self.saturating_sub(other)
    }
    fn distance(self, other: Self) -> Self {
        saturate((i64::from(self) - i64::from(other)).abs())
    }
    #[inline]
    fn times(self, other: Self, fraction_bits: u32) -> Self {
        saturate(scale_down(i64::from(self) * i64::from(other), fraction_bits))
    }
    fn loaded(self, immediate: i16) -> i64 {
        i64::from(self) << amount(immediate.into())
    }
    fn shifted_by(self, other: Self, immediate: i16, is_left: bool) -> Self {
        let places = amount(i64::from(other) + i64::from(immediate));
        saturate(if is_left { i64::from(self) << places } else { i64::from(self) >> places })
    }
    fn picked(self, other: Self, immediate: i16) -> Self {
        pick(immediate, self, other)
    }
    fn function(self, mode: DpuMode) -> Self {
        match mode {
            DpuMode::Sigm => nacu::sigmoid(self),
            DpuMode::Tanhyp => nacu::tanh(self),
            _ => nacu::exponential(self),
        }
    }
    fn leaky(self, slope: i16) -> Self {
        if self >= 0 {
            return self;
        }
        saturate(scale_down(i64::from(self) * i64::from(slope), nacu::FRACTION_BITS))
    }
    fn quotient(dividend: i64, divisor: i64) -> Self {
        nacu::quotient(dividend, divisor)
    }
    fn scaled(self, immediate: i16, is_up: bool) -> Self {
        let (word, places) = (i64::from(self), amount(immediate.into()));
        saturate(if is_up { word << places } else { scale_down(word, places) })
    }
    #[inline]
    fn mac(sum: i64, [a, b]: [Self; 2], fraction_bits: u32) -> (i64, bool) {
        let product = scale_down(i64::from(a) * i64::from(b), fraction_bits);
        let next = i64::from(saturate(sum + i64::from(saturate(product))));
        (next, next != sum + product)
    }
    fn added(sum: i64, [a, b]: [Self; 2], bits: u32) -> (i64, bool) {
        let exact = sum + i64::from(a) + i64::from(b);
        let sum = clip(exact, bits);
        (sum, sum != exact)
    }
    #[inline]
    fn exact_mac(sum: i64, [a, b]: [Self; 2], bits: u32) -> (i64, bool) {
        let exact = sum + i64::from(a) * i64::from(b);
        let sum = clip(exact, bits);
        (sum, sum != exact)
    }
}

/// Quantizes a number with a fraction length; saturates, and maps NaN to 0.
pub fn integer(x: f64, fraction: i32) -> i16 {
    word(x, fraction).value as i16
}

/// Whether [`integer`] does not saturate.
pub fn fits(x: f64, fraction: i32) -> bool {
    !word(x, fraction).is_saturated
}

pub(crate) fn word(x: f64, fraction: i32) -> Quantized {
    quantized(x, fraction, i16::BITS, Ties::HalfAway)
}
