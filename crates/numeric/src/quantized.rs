//! [`quantized`]: conversion of real numbers to fixed point, shared by all code that quantizes.

/// Rounding of a number in the middle of two integers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ties {
    /// To the greater integer: `floor(x + 1/2)`.
    #[default]
    HalfUp,
    /// Away from zero.
    HalfAway,
    /// To the even integer.
    HalfEven,
}

/// A real number as an integer of limited width.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Quantized {
    /// The integer; NaN stays NaN, which `as` converts to 0.
    pub value: f64,
    /// Whether the nearest integer is out of range, or the number is NaN.
    pub is_saturated: bool,
}

/// Returns the integer of `bits` bits, including the sign, that is nearest to `x * 2^fraction`;
/// saturates.
///
/// The result is exact: no intermediate result is rounded while `x * 2^fraction` is a normal
/// double.
pub fn quantized(x: f64, fraction: i32, bits: u32, ties: Ties) -> Quantized {
    let half_range = power_of_two(bits as i32 - 1);
    let (min, max) = (-half_range, half_range - 1.0);
    let integer = nearest_integer(x * power_of_two(fraction), ties);
    Quantized { value: integer.clamp(min, max), is_saturated: !(min..=max).contains(&integer) }
}

fn nearest_integer(x: f64, ties: Ties) -> f64 {
    match ties {
        Ties::HalfUp => {
            // `x + 0.5` would round: the largest double below 0.5 would become 1.
            let below = x.floor();
            below + f64::from(u8::from(x - below >= 0.5))
        }
        Ties::HalfAway => x.round(),
        Ties::HalfEven => x.round_ties_even(),
    }
}

/// Returns the nearest integer, ties to even, of a number of at most 2^22 in magnitude. Two
/// additions, while [`f32::round_ties_even`] is a function call on many processors.
#[inline]
pub fn nearest_code(x: f32) -> f32 {
    // In the binade of this number, floats are integers.
    const INTEGERS: f32 = 1.5 * (1 << 23) as f32;
    (x + INTEGERS) - INTEGERS
}

/// Returns `2^exponent`.
fn power_of_two(exponent: i32) -> f64 {
    match exponent {
        // Exponent field of a normal double.
        -1022..=1023 => f64::from_bits(((exponent + 1023) as u64) << 52),
        _ => 2f64.powi(exponent),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_rounded_to_even() {
        let limit = (1 << 22) as f32;
        let numbers = (-4000..=4000).map(|index| index as f32 / 16.0);
        for x in numbers.chain([limit, -limit, limit - 0.5, 0.5 - limit, 2_000_001.5, -7.499_999_5, 1e-30]) {
            assert_eq!(nearest_code(x), x.round_ties_even(), "{x}");
        }
    }

    #[test]
    fn halves_go_where_they_are_told_to() {
        for (x, up, away, even) in [
            (0.5, 1.0, 1.0, 0.0),
            (-0.5, 0.0, -1.0, 0.0),
            (1.5, 2.0, 2.0, 2.0),
            (-1.5, -1.0, -2.0, -2.0),
            (-2.5, -2.0, -3.0, -2.0),
            (0.49999999999999994, 0.0, 0.0, 0.0),
            (-0.49999999999999994, 0.0, 0.0, 0.0),
            (4503599627370497.0, 127.0, 127.0, 127.0),
        ] {
            let found =
                [Ties::HalfUp, Ties::HalfAway, Ties::HalfEven].map(|ties| quantized(x, 0, 8, ties).value);
            assert_eq!(found, [up, away, even], "{x}");
            let scaled = quantized(x / 32.0, 5, 8, Ties::HalfUp).value;
            assert_eq!(scaled, up, "{x}");
        }
    }

    #[test]
    fn what_is_beyond_saturates_and_says_so() {
        for (x, value, is_saturated) in [
            (127.4, 127.0, false),
            (127.5, 127.0, true),
            (-128.5, -128.0, false),
            (-128.6, -128.0, true),
            (f64::INFINITY, 127.0, true),
            (f64::NEG_INFINITY, -128.0, true),
        ] {
            assert_eq!(quantized(x, 0, 8, Ties::HalfUp), Quantized { value, is_saturated }, "{x}");
        }
        let nan = quantized(f64::NAN, 3, 8, Ties::HalfUp);
        assert!(nan.value.is_nan() && nan.is_saturated && nan.value as i32 == 0);
        assert_eq!(quantized(3e9, 0, 32, Ties::HalfAway).value, f64::from(i32::MAX));
    }

    #[test]
    fn powers_of_two_are_those_of_the_library() {
        for exponent in [-1100, -1023, -1022, -300, -1, 0, 1, 52, 1023, 1024] {
            assert_eq!(power_of_two(exponent), 2f64.powi(exponent), "{exponent}");
        }
    }
}
