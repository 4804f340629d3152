//! [`RealWord`]: a 64-bit float in place of a word. It is the integer that the word would be
//! without rounding.
//!
//! If the sum with the constant of a limiting step saturates, the result is the limit.

use super::nacu::FRACTION_BITS;
use super::word::Word;
use crate::isa::op::DpuMode;
use crate::machine::exec::amount;

/// Steps of Q4.11 per unit.
const ONE: f64 = (1_u32 << FRACTION_BITS) as f64;

/// Float, and whether sums with it saturate on purpose.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RealWord {
    /// Value in units of the integer.
    pub value: f64,
    limits: bool,
}

impl RealWord {
    /// Creates a word that limits nothing.
    pub const fn new(value: f64) -> Self {
        Self { value, limits: false }
    }

    fn limited(self, other: Self, value: f64) -> Self {
        let [low, high] = [i16::MIN, i16::MAX].map(f64::from);
        Self::new(if self.limits || other.limits { value.clamp(low, high) } else { value })
    }
}

/// Returns `value * 2^-places`.
fn down(value: f64, places: i32) -> f64 {
    value * 2f64.powi(-places)
}

impl Word for RealWord {
    type Sum = f64;

    fn garbage(bits: u64) -> Self {
        Self::new(f64::from(bits as i16))
    }
    fn constant(word: i16) -> Self {
        Self::new(word.into())
    }
    fn limit(word: i16) -> Self {
        Self { value: word.into(), limits: true }
    }
    fn made(self) -> Self {
        Self::new(self.value)
    }
    fn shifted(self, places: i32) -> Self {
        Self::new(down(self.value, places))
    }
    fn is_end(self) -> bool {
        false
    }
    fn wide(self) -> f64 {
        self.value
    }
    fn narrow(sum: f64, places: u32) -> Self {
        Self::new(down(sum, places as i32))
    }
    fn plus(self, other: Self) -> Self {
        self.limited(other, self.value + other.value)
    }
    fn minus(self, other: Self) -> Self {
        self.limited(other, self.value - other.value)
    }
    fn distance(self, other: Self) -> Self {
        Self::new((self.value - other.value).abs())
    }
    fn times(self, other: Self, fraction_bits: u32) -> Self {
        Self::new(down(self.value * other.value, fraction_bits as i32))
    }
    fn loaded(self, immediate: i16) -> f64 {
        down(self.value, -(amount(immediate.into()) as i32))
    }
    fn shifted_by(self, other: Self, immediate: i16, is_left: bool) -> Self {
        let places = amount((other.value.round() as i64).saturating_add(immediate.into())) as i32;
        self.shifted(if is_left { -places } else { places })
    }
    fn picked(self, other: Self, immediate: i16) -> Self {
        let is_greater = immediate & 1 == 0;
        Self::new(if is_greater { self.value.max(other.value) } else { self.value.min(other.value) })
    }
    fn function(self, mode: DpuMode) -> Self {
        let x = self.value / ONE;
        let y = match mode {
            DpuMode::Sigm => 1.0 / (1.0 + (-x).exp()),
            DpuMode::Tanhyp => x.tanh(),
            _ => x.exp(),
        };
        Self::new(y * ONE)
    }
    fn leaky(self, slope: i16) -> Self {
        Self::new(if self.value < 0.0 { self.value * f64::from(slope) / ONE } else { self.value })
    }
    fn quotient(dividend: f64, divisor: f64) -> Self {
        // For a division by 0, the machine gives the largest number with the sign of the dividend,
        // or 0.
        let by_zero = if dividend == 0.0 { 0.0 } else { f64::from(i16::MAX) * dividend.signum() };
        Self::new(if divisor == 0.0 { by_zero } else { dividend / divisor * ONE })
    }
    fn scaled(self, immediate: i16, is_up: bool) -> Self {
        let places = amount(immediate.into()) as i32;
        self.shifted(if is_up { -places } else { places })
    }
    fn mac(sum: f64, [a, b]: [Self; 2], fraction_bits: u32) -> (f64, bool) {
        (sum + down(a.value * b.value, fraction_bits as i32), false)
    }
    fn added(sum: f64, [a, b]: [Self; 2], _bits: u32) -> (f64, bool) {
        (sum + a.value + b.value, false)
    }
    fn exact_mac(sum: f64, [a, b]: [Self; 2], _bits: u32) -> (f64, bool) {
        (sum + a.value * b.value, false)
    }
}
