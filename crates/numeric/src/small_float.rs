//! Floats of at most 16 bits, to and from `f32`: [`SmallFloat`].
//!
//! One literal conversion serves all formats. It is compared with `ml_dtypes` on every value of
//! every format and on every tie between two of them (`tests/main/small_float.rs`).

use serde::{Deserialize, Serialize};

/// Meaning of the codes with the largest exponent, and of the code of the negative zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Specials {
    /// Infinity with fraction 0, NaN with other fractions.
    Ieee,
    /// Numbers, except for a NaN with all fraction bits set.
    NanOnly,
    /// Numbers; the code of the negative zero is the only NaN.
    NanAtNegativeZero,
    /// Only numbers.
    None,
    /// No sign, no fraction, no zero: a power of two, or NaN with all bits set.
    PowersOfTwo,
}

/// Rounding of a value between two neighbors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Rounding {
    /// To the nearest; ties to the even code (upwards for powers of two).
    Nearest,
    /// Away from zero.
    Up,
    /// Towards zero.
    Down,
}

/// A format of at most 16 bits: sign, exponent, fraction, from the most significant bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SmallFloat {
    exponent_bits: u32,
    fraction_bits: u32,
    bias: i32,
    specials: Specials,
}

/// Creates a format from its fields.
const fn format(exponent_bits: u32, fraction_bits: u32, bias: i32, specials: Specials) -> SmallFloat {
    SmallFloat { exponent_bits, fraction_bits, bias, specials }
}

impl SmallFloat {
    /// IEEE 754 binary16.
    pub const F16: Self = format(5, 10, 15, Specials::Ieee);
    /// bfloat16.
    pub const BF16: Self = format(8, 7, 127, Specials::Ieee);
    /// OCP OFP8 E4M3.
    pub const F8E4M3FN: Self = format(4, 3, 7, Specials::NanOnly);
    /// E4M3 of Graphcore and AMD.
    pub const F8E4M3FNUZ: Self = format(4, 3, 8, Specials::NanAtNegativeZero);
    /// OCP OFP8 E5M2.
    pub const F8E5M2: Self = format(5, 2, 15, Specials::Ieee);
    /// E5M2 of Graphcore and AMD.
    pub const F8E5M2FNUZ: Self = format(5, 2, 16, Specials::NanAtNegativeZero);
    /// OCP MX E8M0.
    pub const F8E8M0: Self = format(8, 0, 127, Specials::PowersOfTwo);
    /// OCP MX E2M3.
    pub const F6E2M3: Self = format(2, 3, 1, Specials::None);
    /// OCP MX E3M2.
    pub const F6E3M2: Self = format(3, 2, 3, Specials::None);
    /// OCP MX E2M1.
    pub const F4E2M1: Self = format(2, 1, 1, Specials::None);

    /// Returns the number of codes.
    pub fn codes(self) -> u32 {
        2 * self.sign_code()
    }

    /// Returns the value of a code; bits beyond the format are ignored.
    pub fn decode(self, code: u16) -> f32 {
        let code = u32::from(code) & (self.codes() - 1);
        if self.specials == Specials::PowersOfTwo {
            return if code == 0xFF { f32::NAN } else { power_of_two(code as i32 - self.bias) as f32 };
        }
        let magnitude = code & (self.sign_code() - 1);
        let value = match (self.specials, magnitude) {
            (Specials::NanAtNegativeZero, 0) if code != 0 => f32::NAN,
            (Specials::Ieee, _) if magnitude == self.infinity() => f32::INFINITY,
            (Specials::Ieee | Specials::NanOnly, _) if magnitude > self.largest() => f32::NAN,
            _ => self.number(magnitude),
        };
        if code == magnitude { value } else { -value }
    }

    /// Returns the code of the value nearest to `value`; ties to even.
    ///
    /// A value beyond the largest number becomes that number if `saturate` is set or the format has
    /// neither infinity nor NaN. Otherwise it becomes infinity or, if the format has none, NaN. NaN
    /// in a format without NaN becomes a negative zero, as in `ml_dtypes`.
    pub fn encode(self, value: f32, saturate: bool) -> u16 {
        if self.specials == Specials::PowersOfTwo {
            return encode_power_of_two(value, saturate, Rounding::Nearest).into();
        }
        if value.is_nan() {
            return self.nan(value.is_sign_negative()) as u16;
        }
        let magnitude = match self.rounded(value.abs()) {
            magnitude if magnitude <= self.largest() => magnitude,
            _ if saturate => self.largest(),
            _ => match self.specials {
                Specials::Ieee => self.infinity(),
                Specials::None => self.largest(),
                Specials::NanOnly | Specials::NanAtNegativeZero | Specials::PowersOfTwo => {
                    return self.nan(value.is_sign_negative()) as u16;
                }
            },
        };
        let no_negative_zero = self.specials == Specials::NanAtNegativeZero && magnitude == 0;
        let sign = if value.is_sign_negative() && !no_negative_zero { self.sign_code() } else { 0 };
        (sign | magnitude) as u16
    }

    /// Rounds to the nearest value of the format: [`SmallFloat::encode`] and back.
    pub fn round(self, value: f32, saturate: bool) -> f32 {
        self.decode(self.encode(value, saturate))
    }

    /// Returns the code of the sign bit alone; half the number of codes for an unsigned format.
    fn sign_code(self) -> u32 {
        let sign = u32::from(self.specials != Specials::PowersOfTwo);
        1 << (self.exponent_bits + self.fraction_bits + sign - 1)
    }

    /// Returns the code of infinity in IEEE formats.
    fn infinity(self) -> u32 {
        ((1 << self.exponent_bits) - 1) << self.fraction_bits
    }

    /// Returns the code of the largest number.
    fn largest(self) -> u32 {
        match self.specials {
            Specials::Ieee => self.infinity() - 1,
            Specials::NanOnly => self.sign_code() - 2,
            Specials::NanAtNegativeZero | Specials::None | Specials::PowersOfTwo => self.sign_code() - 1,
        }
    }

    /// Returns the code of a NaN, or of its substitute.
    fn nan(self, negative: bool) -> u32 {
        let sign = if negative { self.sign_code() } else { 0 };
        match self.specials {
            Specials::Ieee => sign | self.infinity() | (1 << (self.fraction_bits - 1)),
            Specials::NanOnly => sign | (self.sign_code() - 1),
            Specials::NanAtNegativeZero | Specials::None => self.sign_code(),
            Specials::PowersOfTwo => self.codes() - 1,
        }
    }

    /// Returns the number of a code without sign.
    fn number(self, magnitude: u32) -> f32 {
        let (exponent, fraction) =
            (magnitude >> self.fraction_bits, magnitude & ((1 << self.fraction_bits) - 1));
        // Exponent 0 has no hidden bit, and the scale of exponent 1.
        let significand = if exponent == 0 { fraction } else { fraction + (1 << self.fraction_bits) };
        (f64::from(significand) * self.quantum(exponent.max(1) as i32 - self.bias)) as f32
    }

    /// Returns the distance of neighbors starting at `2^exponent`.
    fn quantum(self, exponent: i32) -> f64 {
        power_of_two(exponent - self.fraction_bits as i32)
    }

    /// Returns the code of the nearest number, as if exponents were unlimited. `value` must not be
    /// negative.
    fn rounded(self, value: f32) -> u32 {
        if value == f32::INFINITY {
            return u32::MAX;
        }
        let least = 1 - self.bias;
        let exponent = exponent_of(value).max(least);
        // Exact: a division by a power of two, of a number of 24 bits.
        let steps = (f64::from(value) / self.quantum(exponent)).round_ties_even() as u32;
        // If the hidden bit is set, it adds 1 to the exponent, as does a carry out of the fraction.
        (((exponent - least) as u32) << self.fraction_bits) + steps
    }
}

/// Returns the code in [`SmallFloat::F8E8M0`] of a power of two next to `value`.
///
/// NaN for NaN and for negative numbers, which the standard leaves open. A value out of range,
/// including zero, becomes the last number if `saturate` is set, otherwise NaN.
pub fn encode_power_of_two(value: f32, saturate: bool, rounding: Rounding) -> u8 {
    const NAN: u8 = 0xFF;
    const LARGEST: i32 = 0xFE;
    if value.is_nan() || value < 0.0 || (value == 0.0 && !saturate) {
        return NAN;
    }
    let code = match value {
        0.0 => 0,
        f32::INFINITY => LARGEST + 1,
        value => {
            let exponent = exponent_of(value);
            let significand = f64::from(value) / power_of_two(exponent);
            let up = match rounding {
                Rounding::Nearest => significand >= 1.5,
                Rounding::Up => significand > 1.0,
                Rounding::Down => false,
            };
            exponent + i32::from(up) + 127
        }
    };
    if (0..=LARGEST).contains(&code) || saturate { code.clamp(0, LARGEST) as u8 } else { NAN }
}

/// Returns the exponent of the largest power of two that is not above `value`, which must be
/// positive and finite. For zero, the result is below that of every format.
fn exponent_of(value: f32) -> i32 {
    // As a double, every number has its hidden bit.
    (f64::from(value).to_bits() >> 52) as i32 - 1023
}

/// Returns `2^exponent`, for exponents of normal doubles.
fn power_of_two(exponent: i32) -> f64 {
    f64::from_bits(((exponent + 1023) as u64) << 52)
}
