//! Conversion of real values to fixed point, against exact arithmetic on integers.

use npukit_numeric::{FixedFormat, NumberFormat};
use proptest::prelude::*;

const FORMATS: [FixedFormat; 4] = [format(8, 4), format(16, 8), format(18, 10), format(32, 16)];

const fn format(width: u32, binary_point: u32) -> FixedFormat {
    FixedFormat { width, binary_point }
}

/// `floor(f * 2^binary_point + 1/2)` within the range, of a float that is a whole number of 2^-64 and below 2^60.
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
        // The least value is one that the format has.
        let lowest = format.to_f32(least);
        assert_eq!((f64::from(lowest), format.from_f32(lowest)), (least as f64 / format.one() as f64, least));
    }
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
}
