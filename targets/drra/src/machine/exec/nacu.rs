//! Functions of Q4.11 numbers (sign, 4 integer bits, 11 fraction bits), rounded to nearest, exactly
//! as DRRA-1's activation unit computes them.
//!
//! All are derived from e^-|x|, a product of constants for the bits of |x| that are set.

/// Fraction bits of Q4.11.
pub(crate) const FRACTION_BITS: u32 = 11;
/// Fraction bits of exponentials.
const WIDE_BITS: u32 = 62;
const ONE: u128 = 1 << WIDE_BITS;

/// e^(-2^i / 2^11), for each bit i of a number.
#[rustfmt::skip] // Not formatted: the rows are aligned as a table.
const EXPONENTIALS: [u64; 16] = [
    0x3ff8_007f_faaa_d554, 0x3ff0_01ff_d557_ffde, 0x3fe0_07fe_aad5_5111, 0x3fc0_1ff5_57ff_778e,
    0x3f80_7faa_d544_49f3, 0x3f01_fd57_fddf_4925, 0x3e07_ead5_116b_af23, 0x3c1f_57f7_8e05_479d,
    0x387a_d449_db04_430f, 0x31d7_df3d_5904_15d1, 0x26d1_65f8_df2c_13fd, 0x178b_5636_2cef_37c7,
    0x08a9_5551_dfc0_e5d0, 0x012c_155b_8213_cf47, 0x0005_7f08_4104_09eb, 0x0000_0078_d56e_ebba,
];

/// Returns e^-x, for `x` in Q4.11 without its sign.
fn decay(x: u32) -> u128 {
    let set = (0..).zip(EXPONENTIALS).filter(|(bit, _)| x >> bit & 1 == 1);
    set.fold(ONE, |product, (_, factor)| (product * u128::from(factor)) >> WIDE_BITS)
}

/// Rounds a number with [`WIDE_BITS`] fraction bits to Q4.11.
fn round(value: u128) -> i16 {
    const DROPPED: u32 = WIDE_BITS - FRACTION_BITS;
    ((value + (1 << (DROPPED - 1))) >> DROPPED).min(i16::MAX as u128) as i16
}

/// Returns e^x, saturated.
pub(crate) fn exponential(x: i16) -> i16 {
    let decay = decay(x.unsigned_abs().into());
    if x < 0 { round(decay) } else { round((ONE << WIDE_BITS) / decay) }
}

/// Returns 1 / (1 + e^-x).
pub(crate) fn sigmoid(x: i16) -> i16 {
    let decay = decay(x.unsigned_abs().into());
    let part = if x < 0 { decay } else { ONE };
    round((part << WIDE_BITS) / (ONE + decay))
}

/// Returns the hyperbolic tangent.
pub(crate) fn tanh(x: i16) -> i16 {
    let decay = decay(x.unsigned_abs().into());
    let square = (decay * decay) >> WIDE_BITS;
    let magnitude = round(((ONE - square) << WIDE_BITS) / (ONE + square));
    if x < 0 { -magnitude } else { magnitude }
}

/// Returns a / b, rounded to nearest, halves away from zero. For b = 0, it is the largest number
/// with the sign of `a`, or 0.
pub(crate) fn quotient(a: i64, b: i64) -> i16 {
    if b == 0 {
        return match a.signum() {
            1 => i16::MAX,
            -1 => i16::MIN,
            _ => 0,
        };
    }
    let (dividend, divisor) = (a.unsigned_abs() << FRACTION_BITS, b.unsigned_abs());
    let magnitude = (dividend + divisor / 2) / divisor;
    let magnitude = magnitude.min(1 << 16) as i64;
    super::saturate(if (a < 0) == (b < 0) { magnitude } else { -magnitude })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rounds to nearest, halves away from zero.
    fn judge(value: f64) -> i16 {
        (value * 2048.0).round().clamp(-32768.0, 32767.0) as i16
    }

    #[test]
    fn functions_are_rounded_exactly() {
        for x in i16::MIN..=i16::MAX {
            let real = f64::from(x) / 2048.0;
            assert_eq!(exponential(x), judge(real.exp()), "exp {x}");
            assert_eq!(sigmoid(x), judge(1.0 / (1.0 + (-real).exp())), "sigmoid {x}");
            assert_eq!(tanh(x), judge(real.tanh()), "tanh {x}");
        }
    }

    #[test]
    fn quotients_are_rounded_exactly() {
        for a in (i16::MIN..=i16::MAX).step_by(37) {
            for b in (i16::MIN..=i16::MAX).step_by(41).chain([-1, 1, 2, i16::MAX]).filter(|b| *b != 0) {
                let expected = judge(f64::from(a) / f64::from(b));
                assert_eq!(quotient(a.into(), b.into()), expected, "{a} / {b}");
            }
        }
        assert_eq!([5, -5, 0].map(|a| quotient(a, 0)), [i16::MAX, i16::MIN, 0]);
    }
}
