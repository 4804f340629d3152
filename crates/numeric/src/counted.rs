//! Reference arithmetic of every [`NumberFormat`] on raw values, with saturation statistics.
//!
//! Fast paths are tested against it, and fall back on it if a result saturates: they only have to
//! detect that.

use crate::format::{FixedFormat, NumberFormat};
use crate::saturation::Saturations;

/// Returns the float that a raw value represents.
fn float(raw: i32) -> f32 {
    f32::from_bits(raw as u32)
}

/// Returns the raw value of a float.
fn bits(f: f32) -> i32 {
    f.to_bits() as i32
}

impl FixedFormat {
    /// Returns the low `width` bits of `raw`, sign-extended.
    pub const fn wrap(self, raw: i32) -> i32 {
        let unused = 32 - self.width;
        (raw << unused) >> unused
    }
}

impl NumberFormat {
    /// Returns the raw value of 1.0.
    pub fn one(self) -> i32 {
        match self {
            Self::Fixed(format) => format.one() as i32,
            Self::Float32 => bits(1.0),
        }
    }

    /// Returns `x * y + z`: fixed formats round half to even once and saturate; floats round twice.
    pub fn mac(self, x: i32, y: i32, z: i32, saturations: &mut Saturations) -> i32 {
        match self {
            Self::Fixed(format) => {
                let exact = i64::from(x) * i64::from(y) + (i64::from(z) << format.binary_point);
                saturations.saturate(format, format.round_half_even(exact)) as i32
            }
            Self::Float32 => bits(float(x) * float(y) + float(z)),
        }
    }

    /// Returns `x + y`, saturated.
    pub fn add(self, x: i32, y: i32, saturations: &mut Saturations) -> i32 {
        match self {
            Self::Fixed(format) => saturations.saturate(format, i64::from(x) + i64::from(y)) as i32,
            Self::Float32 => bits(float(x) + float(y)),
        }
    }

    /// Returns `x - y`, saturated.
    pub fn sub(self, x: i32, y: i32, saturations: &mut Saturations) -> i32 {
        match self {
            Self::Fixed(format) => saturations.saturate(format, i64::from(x) - i64::from(y)) as i32,
            Self::Float32 => bits(float(x) - float(y)),
        }
    }

    /// Returns `x * y`, rounded half to even and saturated.
    pub fn mul(self, x: i32, y: i32, saturations: &mut Saturations) -> i32 {
        match self {
            Self::Fixed(_) => self.mac(x, y, 0, saturations),
            Self::Float32 => bits(float(x) * float(y)),
        }
    }

    /// Returns the magnitude of `x`. The most negative fixed value wraps to itself.
    pub fn abs(self, x: i32) -> i32 {
        match self {
            Self::Fixed(format) => format.wrap(x.wrapping_abs()),
            Self::Float32 => bits(float(x).abs()),
        }
    }

    /// Compares `x` with `y`; `None` if either is NaN.
    pub fn compare(self, x: i32, y: i32) -> Option<std::cmp::Ordering> {
        match self {
            Self::Fixed(_) => Some(x.cmp(&y)),
            Self::Float32 => float(x).partial_cmp(&float(y)),
        }
    }
}
