//! Fixed-point formats and their reference arithmetic, which fast paths are tested against.
//!
//! Raw values are two's-complement integers; the real value is `raw / 2^binary_point`.

use crate::quantized::{Ties, quantized};

/// A signed fixed-point format of `width` bits, `binary_point` of them fraction bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FixedFormat {
    /// Bits of a value, including the sign; at most 32.
    pub width: u32,
    /// Number of fraction bits.
    pub binary_point: u32,
}

impl FixedFormat {
    /// Returns the largest raw value.
    pub const fn max(self) -> i64 {
        (1 << (self.width - 1)) - 1
    }

    /// Returns the smallest raw value.
    pub const fn min(self) -> i64 {
        -(1 << (self.width - 1))
    }

    /// Returns the raw value of 1.0.
    pub const fn one(self) -> i64 {
        1 << self.binary_point
    }

    /// Clamps `v` to the format's range.
    pub const fn saturate(self, v: i64) -> i64 {
        if v > self.max() {
            self.max()
        } else if v < self.min() {
            self.min()
        } else {
            v
        }
    }

    /// Drops `binary_point` fraction bits, rounding half to even.
    pub const fn round_half_even(self, m: i64) -> i64 {
        let q = m >> self.binary_point;
        let rest = m & (self.one() - 1);
        let half = self.one() >> 1;
        if rest > half || (rest == half && q & 1 == 1) { q + 1 } else { q }
    }

    /// Returns `sat(rne(x * y + z))` with an exact intermediate; `x`, `y`, `z` and the result are
    /// raw values.
    pub const fn mac(self, x: i64, y: i64, z: i64) -> i64 {
        self.saturate(self.round_half_even(x * y + (z << self.binary_point)))
    }

    /// Returns the saturated sum.
    pub const fn add(self, x: i64, y: i64) -> i64 {
        self.saturate(x + y)
    }

    /// Returns the saturated difference.
    pub const fn sub(self, x: i64, y: i64) -> i64 {
        self.saturate(x - y)
    }

    /// Returns the product, rounded half to even, then saturated.
    pub const fn mul(self, x: i64, y: i64) -> i64 {
        self.mac(x, y, 0)
    }

    /// Returns `sat(floor(f * 2^binary_point + 1/2))`; 0 for NaN.
    pub fn from_f32(self, f: f32) -> i64 {
        quantized(f.into(), self.binary_point as i32, self.width, Ties::HalfUp).value as i64
    }

    /// Returns the real value, rounded to the nearest `f32`.
    pub fn to_f32(self, raw: i64) -> f32 {
        (raw as f64 / self.one() as f64) as f32
    }
}

/// A number format chosen at run time. A raw value is an `i32`: the sign-extended integer of a
/// fixed format, or the bit pattern of an `f32`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum NumberFormat {
    /// Fixed point.
    Fixed(FixedFormat),
    /// IEEE 754 single precision.
    Float32,
}

impl NumberFormat {
    /// Converts a real value to a raw one (see [`FixedFormat::from_f32`]).
    pub fn raw_from_f32(self, f: f32) -> i32 {
        match self {
            Self::Fixed(format) => format.from_f32(f) as i32,
            Self::Float32 => f.to_bits() as i32,
        }
    }

    /// Converts a raw value to a real one.
    pub fn raw_to_f32(self, raw: i32) -> f32 {
        match self {
            Self::Fixed(format) => format.to_f32(i64::from(raw)),
            Self::Float32 => f32::from_bits(raw as u32),
        }
    }

    /// Returns the largest magnitude that does not saturate for either sign.
    pub fn largest(self) -> f64 {
        match self {
            Self::Fixed(format) => format.max() as f64 / format.one() as f64,
            Self::Float32 => f64::from(f32::MAX),
        }
    }

    /// Returns the distance of neighboring values; `None` if it depends on the value.
    pub fn step(self) -> Option<f64> {
        match self {
            Self::Fixed(format) => Some(1.0 / format.one() as f64),
            Self::Float32 => None,
        }
    }

    /// Rounds `f` to the nearest value of the format.
    pub fn round(self, f: f32) -> f32 {
        self.raw_to_f32(self.raw_from_f32(f))
    }
}

/// Formats as `fixed point, 16 bits, 8 of them fraction`.
impl std::fmt::Display for NumberFormat {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Fixed(FixedFormat { width, binary_point }) => {
                write!(f, "fixed point, {width} bits, {binary_point} of them fraction")
            }
            Self::Float32 => f.write_str("32-bit float"),
        }
    }
}
