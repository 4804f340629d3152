//! Conversion of real values to fixed point, against exact integer arithmetic.

use npukit_numeric::{FixedFormat, NumberFormat};
use proptest::prelude::*;

const FORMATS: [FixedFormat; 4] = [format(8, 4), format(16, 8), format(18, 10), format(32, 16)];

const fn format(width: u32, binary_point: u32) -> FixedFormat {
    FixedFormat { width, binary_point }
}

/// `floor(f * 2^binary_point + 1/2)` within the range, for a float that is a multiple of 2^-64 and
/// below 2^60.
fn literal(format: FixedFormat, f: f32) -> i64 {
    let scaled = (f64::from(f) * 2f64.powi(64)) as i128;
    let half = 1_i128 << (63 - format.binary_point);
    let rounded = (scaled + half) >> (64 - format.binary_point);
    rounded.clamp(i128::from(format.min()), i128::from(format.max())) as i64
}

#[test]
fn ties_go_up_on_both_sides_of_zero() {
    let format = format(16, 8);
    let halves = [(-2.5, -2), (-1.5, -1), (-0.5, 0), (0.5, 1), (1.5, 2), (2.5, 3)];
    for (units, expected) in halves {
        assert_eq!(format.from_f32(units / 256.0), expected, "{units}");
    }
    for (units, expected) in [(-1.501, -2), (-1.499, -1), (1.499, 1), (1.501, 2), (-0.499, 0), (0.499, 0)] {
        assert_eq!(format.from_f32(units / 256.0), expected, "{units}");
    }
}

#[test]
fn what_is_beyond_the_range_saturates_and_nan_is_0() {
    for format in FORMATS {
        let [least, most] = [format.min(), format.max()];
        assert_eq!((least, most), (-(1 << (format.width - 1)), (1 << (format.width - 1)) - 1));
        for (f, expected) in [
            (f32::NEG_INFINITY, least),
            (f32::MIN, least),
            (f32::MAX, most),
            (f32::INFINITY, most),
            (f32::NAN, 0),
        ] {
            assert_eq!(format.from_f32(f), expected, "{format:?}: {f}");
        }
        // The smallest value is one of the format.
        let lowest = format.to_f32(least);
        assert_eq!((f64::from(lowest), format.from_f32(lowest)), (least as f64 / format.one() as f64, least));
    }
}

/// `m / 2^binary_point` to the nearest integer, ties to even, clamped to the range.
fn rounded(format: FixedFormat, m: i128) -> i64 {
    let one = 1_i128 << format.binary_point;
    let (quotient, rest) = (m.div_euclid(one), m.rem_euclid(one));
    let up = 2 * rest > one || 2 * rest == one && quotient.rem_euclid(2) == 1;
    (quotient + i128::from(up)).clamp(format.min().into(), format.max().into()) as i64
}

#[test]
fn limits_steps_and_names_of_formats() {
    let fixed = NumberFormat::Fixed(format(16, 8));
    assert_eq!((fixed.largest(), fixed.step()), (32767.0 / 256.0, Some(1.0 / 256.0)));
    assert_eq!((NumberFormat::Float32.largest(), NumberFormat::Float32.step()), (f64::from(f32::MAX), None));
    assert_eq!(
        [0.3, -0.3, 200.0, -200.0].map(|f| fixed.round(f)),
        [77.0 / 256.0, -77.0 / 256.0, 32767.0 / 256.0, -128.0]
    );
    assert_eq!(NumberFormat::Float32.round(0.3), 0.3);
    assert_eq!(NumberFormat::Float32.raw_from_f32(-2.0), 0xC000_0000_u32 as i32);
    assert_eq!(NumberFormat::Float32.raw_to_f32(0x3F80_0000), 1.0);
    assert_eq!((fixed.raw_from_f32(-1.5), fixed.raw_to_f32(-384)), (-384, -1.5));
    assert_eq!(fixed.to_string(), "fixed point, 16 bits, 8 of them fraction");
    assert_eq!(NumberFormat::Float32.to_string(), "32-bit float");
    assert_eq!((format(16, 8).one(), format(32, 16).one()), (256, 65536));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn conversion_is_exact_arithmetic_rounded_once(halves in -70_000i32..70_000, near in -2i32..3) {
        for format in FORMATS {
            // Multiples of half a unit, and the floats next to them.
            let tie = halves as f32 / (2 * format.one()) as f32;
            let f = f32::from_bits(tie.to_bits().saturating_add_signed(near));
            prop_assume!(f == 0.0 || f.abs() > 1e-10);
            prop_assert_eq!(format.from_f32(f), literal(format, f), "{:?}: {}", format, f);
            let raw = NumberFormat::Fixed(format).raw_from_f32(f);
            prop_assert_eq!(i64::from(raw), literal(format, f));
        }
    }

    /// The reference arithmetic against integers of twice the size.
    #[test]
    fn arithmetic_is_exact_and_rounded_once(raw in [any::<i32>(), any::<i32>(), any::<i32>()], shift in 0u32..32) {
        for format in FORMATS {
            // Both near zero and near the limits.
            let [x, y, z] = raw.map(|v| format.saturate(i64::from(v >> shift)));
            let wide = |v: i64| i128::from(v);
            let (product, sum) = (wide(x) * wide(y), wide(z) << format.binary_point);
            prop_assert_eq!(format.mac(x, y, z), rounded(format, product + sum));
            prop_assert_eq!(format.mul(x, y), rounded(format, product));
            prop_assert_eq!(format.add(x, z), rounded(format, (wide(x) + wide(z)) << format.binary_point));
            prop_assert_eq!(format.sub(x, z), rounded(format, (wide(x) - wide(z)) << format.binary_point));
            prop_assert_eq!(format.to_f32(x), (x as f64 / 2f64.powi(format.binary_point as i32)) as f32);
            let tie = (x << format.binary_point) + format.one() / 2;
            prop_assert_eq!(format.saturate(format.round_half_even(tie)), rounded(format, tie.into()));
        }
    }
}

#[test]
fn values_compare_as_numbers() {
    use std::cmp::Ordering::{Equal, Greater, Less};
    let fixed = NumberFormat::Fixed(format(16, 8));
    assert_eq!([fixed.compare(-1, 1), fixed.compare(2, 2)], [Some(Less), Some(Equal)]);
    let compare = |x: f32, y: f32| NumberFormat::Float32.compare(x.to_bits() as i32, y.to_bits() as i32);
    assert_eq!([compare(-1.0, -2.0), compare(0.0, -0.0)], [Some(Greater), Some(Equal)]);
    assert_eq!([compare(f32::NAN, 0.0), compare(0.0, f32::NAN)], [None, None]);
}
