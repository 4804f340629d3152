//! BF16 values of the reference profile: subnormals are zeros of their sign, and there is one NaN.
//! Source: specification 3.3 and 4, `val` and `bf`.

/// The only NaN pattern.
pub const NAN: u16 = 0x7FC0;
/// Positive infinity.
pub const INFINITY: u16 = 0x7F80;
const SIGN: u16 = 0x8000;
/// The smallest normal number.
const SMALLEST: f64 = f32::MIN_POSITIVE as f64;
/// Smallest number that rounds up to [`SMALLEST`], half a subnormal step (2^-133) below it.
const ROUNDS_TO_SMALLEST: f64 = SMALLEST * (1.0 - 1.0 / 256.0);

/// Returns the biased exponent.
pub const fn exponent(bits: u16) -> u8 {
    (bits >> 7) as u8
}

/// Returns the value of a pattern; subnormals are read as zeros of their sign.
pub fn val(bits: u16) -> f32 {
    let bits = if exponent(bits) == 0 { bits & SIGN } else { bits };
    f32::from_bits(u32::from(bits) << 16)
}

/// Returns the pattern nearest to `value`, with ties to even; subnormals become zeros of their
/// sign.
pub fn bf(value: f32) -> u16 {
    if value.is_nan() {
        return NAN;
    }
    let bits = value.to_bits();
    // A carry out of the fraction increments the exponent. For the largest number, this gives
    // infinity.
    let rounded = ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16) as u16;
    if exponent(rounded) == 0 { rounded & SIGN } else { rounded }
}

/// Rounds a double-precision value like [`bf`], in one step.
pub fn bf_of_double(value: f64) -> u16 {
    if value.is_nan() {
        return NAN;
    }
    let sign = if value.is_sign_negative() { SIGN } else { 0 };
    let size = value.abs();
    if size < SMALLEST {
        return sign | if size >= ROUNDS_TO_SMALLEST { 0x0080 } else { 0 };
    }
    // Number of fraction bits that are dropped. BF16 keeps 7.
    const DROPPED: u32 = 52 - 7;
    let bits = size.to_bits();
    let rounded = (bits + (1 << (DROPPED - 1)) - 1 + (bits >> DROPPED & 1)) >> DROPPED;
    // The subtraction converts the exponent's bias from double precision to BF16.
    let code = rounded - ((1023 - 127) << 7);
    sign | (code.min(INFINITY.into()) as u16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use npukit_numeric::SmallFloat;
    use proptest::prelude::*;

    /// Converts with the shared literal conversion, then applies this profile's rules for
    /// subnormals and NaNs.
    fn slowly(value: f32) -> u16 {
        match SmallFloat::BF16.encode(value, false) {
            _ if value.is_nan() => NAN,
            code if exponent(code) == 0 => code & SIGN,
            code => code,
        }
    }

    #[test]
    fn patterns_survive() {
        for bits in 0..=u16::MAX {
            let (value, expected) = (val(bits), if val(bits).is_nan() { NAN } else { slowly(val(bits)) });
            assert_eq!((bf(value), bf_of_double(value.into())), (expected, expected), "{bits:04x}");
        }
    }

    proptest! {
        #[test]
        fn rounding_is_the_literal_one(bits: u32, tie: bool) {
            let value = f32::from_bits(if tie { bits & 0xFFFF_0000 | 0x8000 } else { bits });
            prop_assert_eq!(bf(value), slowly(value));
            prop_assert_eq!(bf_of_double(value.into()), slowly(value));
        }
    }

    #[test]
    fn doubles_are_rounded_once() {
        // The value is just above a tie. Rounding to f32 first would give exactly the tie.
        let above = f64::from(f32::from_bits(0x3F80_8000)) + 1e-12;
        assert_eq!((bf(above as f32), bf_of_double(above)), (0x3F80, 0x3F81));
        assert_eq!((bf_of_double(1e300), bf_of_double(-1e300)), (INFINITY, 0xFF80));
        assert_eq!((bf_of_double(1e-300), bf_of_double(-1e-300)), (0, SIGN));
    }
}
