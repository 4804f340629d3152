//! The literal arithmetic of every [`NumberFormat`] on raw values, with saturation statistics.
//!
//! This is what fast paths are judged by, and what they fall back on where a result saturates:
//! they only have to notice that one did.

use crate::format::{FixedFormat, NumberFormat};
use crate::saturation::Saturations;

/// The float that a raw value stands for.
fn float(raw: i32) -> f32 {
    f32::from_bits(raw as u32)
}

/// The raw value of a float.
fn bits(f: f32) -> i32 {
    f.to_bits() as i32
}

impl FixedFormat {
    /// The low `width` bits of `raw`, sign-extended.
    pub const fn wrap(self, raw: i32) -> i32 {
        let unused = 32 - self.width;
        (raw << unused) >> unused
    }
}

impl NumberFormat {
    /// The raw value of 1.0.
    pub fn one(self) -> i32 {
        match self {
            Self::Fixed(format) => format.one() as i32,
            Self::Float32 => bits(1.0),
        }
    }

    /// `x * y + z`: fixed formats round half to even once and saturate; floats round twice.
    pub fn mac(self, x: i32, y: i32, z: i32, saturations: &mut Saturations) -> i32 {
        match self {
            Self::Fixed(format) => {
                let exact = i64::from(x) * i64::from(y) + (i64::from(z) << format.binary_point);
                saturations.saturate(format, format.round_half_even(exact)) as i32
            }
            Self::Float32 => bits(float(x) * float(y) + float(z)),
        }
    }

    /// `x + y`, saturating.
    pub fn add(self, x: i32, y: i32, saturations: &mut Saturations) -> i32 {
        match self {
            Self::Fixed(format) => saturations.saturate(format, i64::from(x) + i64::from(y)) as i32,
            Self::Float32 => bits(float(x) + float(y)),
        }
    }

    /// `x - y`, saturating.
    pub fn sub(self, x: i32, y: i32, saturations: &mut Saturations) -> i32 {
        match self {
            Self::Fixed(format) => saturations.saturate(format, i64::from(x) - i64::from(y)) as i32,
            Self::Float32 => bits(float(x) - float(y)),
        }
    }

    /// `x * y`, rounded half to even and saturating.
    pub fn mul(self, x: i32, y: i32, saturations: &mut Saturations) -> i32 {
        match self {
            Self::Fixed(_) => self.mac(x, y, 0, saturations),
            Self::Float32 => bits(float(x) * float(y)),
        }
    }

    /// `x` without its sign. The most negative fixed value wraps to itself.
    pub fn abs(self, x: i32) -> i32 {
        match self {
            Self::Fixed(format) => format.wrap(x.wrapping_abs()),
            Self::Float32 => bits(float(x).abs()),
        }
    }

    /// How `x` compares with `y`; none when either is NaN.
    pub fn compare(self, x: i32, y: i32) -> Option<std::cmp::Ordering> {
        match self {
            Self::Fixed(_) => Some(x.cmp(&y)),
            Self::Float32 => float(x).partial_cmp(&float(y)),
        }
    }
}
