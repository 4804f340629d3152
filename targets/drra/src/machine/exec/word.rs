//! What words are: [`Word`], of which the fabric's own is one and elements of a prime field are another.
//!
//! Sequencers, addresses, routes and the order of a cycle are the same whatever words are; this is what a dpu and a
//! driver ask of them.

use std::fmt::Debug;

use npukit_numeric::{Quantised, Ties, quantised};

use crate::isa::op::DpuMode;
use crate::machine::exec::{amount, clip, nacu, pick, saturate, scale_down};

/// A word, and what dpus compute with it.
pub trait Word: Copy + Default + PartialEq + Debug + Send + Sync + 'static {
    /// What an accumulator holds.
    type Sum: Copy + Default + PartialEq + Debug + Send + Sync + 'static;

    /// What nobody wrote, of bits that look random.
    fn garbage(bits: u64) -> Self;
    /// A known integer.
    fn constant(word: i16) -> Self;
    /// The same; sums with it that saturate are wanted.
    fn limit(word: i16) -> Self;
    /// The same as a value of the graph: whatever it was made of, it is limited anew.
    fn made(self) -> Self;
    /// A word shifted to the right by `places`, rounded; to the left when negative.
    fn shifted(self, places: i32) -> Self;
    /// Whether it is at an end of the range of words.
    fn is_end(self) -> bool;
    /// In an accumulator.
    fn wide(self) -> Self::Sum;
    /// Out of one of at most `places` more fraction bits.
    fn narrow(sum: Self::Sum, places: u32) -> Self;

    /// The sum.
    fn plus(self, other: Self) -> Self;
    /// The difference.
    fn minus(self, other: Self) -> Self;
    /// The magnitude of the difference.
    fn distance(self, other: Self) -> Self;
    /// The product, which loses fraction bits.
    fn times(self, other: Self, fraction_bits: u32) -> Self;
    /// `self` in an accumulator times two to the power of `immediate`, limited to 0 to 31.
    fn loaded(self, immediate: i16) -> Self::Sum;
    /// Shifted by the sum of a word and an immediate, to the left or to the right.
    fn shifted_by(self, other: Self, immediate: i16, is_left: bool) -> Self;
    /// The larger, or the smaller when the lowest bit of the immediate is set.
    fn picked(self, other: Self, immediate: i16) -> Self;
    /// A function of Q4.11.
    fn function(self, mode: DpuMode) -> Self;
    /// `self` where it is not negative, its product with a number of Q4.11 elsewhere.
    fn leaky(self, slope: i16) -> Self;
    /// A quotient with 11 fraction bits.
    fn quotient(dividend: Self::Sum, divisor: Self::Sum) -> Self;
    /// Scaled up, or down and rounded, by the power of two that an immediate says.
    fn scaled(self, immediate: i16, is_up: bool) -> Self;

    /// `sum + product` in the accumulator of `mac`, and whether it did not fit.
    fn mac(sum: Self::Sum, factors: [Self; 2], fraction_bits: u32) -> (Self::Sum, bool);
    /// `sum + a + b` in one of `bits` bits, and whether it did not fit.
    fn added(sum: Self::Sum, addends: [Self; 2], bits: u32) -> (Self::Sum, bool);
    /// `sum + a * b` in one of `bits` bits, and whether it did not fit.
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

/// The nearest integer of a number with a fraction length; saturates, NaN is 0.
pub fn integer(x: f64, fraction: i32) -> i16 {
    word(x, fraction).value as i16
}

/// Whether [`integer`] does not saturate.
pub fn fits(x: f64, fraction: i32) -> bool {
    !word(x, fraction).is_saturated
}

pub(crate) fn word(x: f64, fraction: i32) -> Quantised {
    quantised(x, fraction, i16::BITS, Ties::HalfAway)
}
