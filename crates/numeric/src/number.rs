//! Number formats fixed at compile time, for code that must be fast: [`Number`].
//!
//! [`Fixed`] and [`Float`] have no size; they choose how a raw value is stored and computed with.
//! Their arithmetic must equal that of [`NumberFormat`]: `tests/main/number.rs` compares them.

use std::marker::PhantomData;

use crate::format::{FixedFormat, NumberFormat};
use crate::simd::SumFloat;

/// A number format known to the compiler.
///
/// Operations work on [`Number::Wide`] values inside the format's range. Those that can saturate
/// take `clipped`, which becomes other than zero when they did and is left alone otherwise: the
/// caller then repeats the work with [`NumberFormat`] to get the statistics.
pub trait Number: Copy + Send + Sync + 'static {
    /// A raw value as stored.
    type Raw: Copy + Default + PartialEq + std::fmt::Debug + Send + Sync + 'static;
    /// A raw value in a register, and the mask of clipped bits.
    type Wide: Copy + Default + PartialEq + PartialOrd;
    /// The format's name at run time.
    const FORMAT: NumberFormat;
    /// A float in which the array product keeps its running sums.
    type Sum: SumFloat;
    /// 1.0.
    const ONE: Self::Wide;
    /// Where running sums are kept as integers inside floats: 1.0 as a raw value, and the float that
    /// stands for the sum 0. A step is then a fused multiply-add, `input * weight + sum`. None for
    /// formats whose steps round the product first.
    const SUM_ORIGIN: Option<(Self::Sum, Self::Sum)>;

    /// Takes a raw value; of a fixed format the low bits only.
    fn from_raw(raw: i32) -> Self::Raw;
    /// The raw value: sign-extended, or the bits of a float.
    fn to_raw(value: Self::Raw) -> i32;
    /// To the register's type.
    fn widen(value: Self::Raw) -> Self::Wide;
    /// Back to the stored type; the value must be in range.
    fn narrow(value: Self::Wide) -> Self::Raw;
    /// `x * y + z`, rounded and saturated.
    fn mac(x: Self::Wide, y: Self::Wide, z: Self::Wide, clipped: &mut Self::Wide) -> Self::Wide;
    /// `x + y`, saturated.
    fn add(x: Self::Wide, y: Self::Wide, clipped: &mut Self::Wide) -> Self::Wide;
    /// `x - y`, saturated.
    fn sub(x: Self::Wide, y: Self::Wide, clipped: &mut Self::Wide) -> Self::Wide;
    /// `x * y`, rounded and saturated.
    fn mul(x: Self::Wide, y: Self::Wide, clipped: &mut Self::Wide) -> Self::Wide;
    /// `x` without its sign; the most negative fixed value stays.
    fn abs(x: Self::Wide) -> Self::Wide;

    /// An input as a factor of a running sum's step: the raw value.
    fn sum_input(x: Self::Raw) -> Self::Sum;
    /// A weight as a factor of a running sum's step: the real value.
    fn sum_weight(w: Self::Raw) -> Self::Sum;
    /// Whether a sum may have left the format's range, judged by all bits that it and other sums ever
    /// had: always when it has, hardly ever when not. If so it is worthless from there on.
    fn sum_left(seen: Self::Sum) -> bool;
    /// The raw value of a sum that never left the range.
    fn sum_end(sum: Self::Sum) -> Self::Raw;
}

/// A fixed-point format of `WIDTH` bits, `POINT` of them fraction, stored in `S`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fixed<S, const WIDTH: u32, const POINT: u32>(PhantomData<S>);

/// Fixed point in `$raw`, computed in `$wide`, which must hold `x * y + (z << POINT)` exactly.
///
/// Running sums are kept in `$float`, in a place where its last bit is worth one raw unit: the sum
/// `s` is the float `START + s`, and `START` is a power of two `2^($digits - 1)` so large that the
/// significand has no bit left for fractions, plus half the format's range, which keeps sums in
/// range at or above that power. A fused multiply-add there computes exactly and rounds once, to a
/// whole number of raw units, half to even; `START` is even, so the float is even when `s` is. This
/// is the hardware's rounding, in one instruction, for every weight.
///
/// In range a sum changes the low `WIDTH` bits of the float only. Out of range another bit changes:
/// above, one of the significand's; below, the exponent becomes one less, and either its last bit
/// (`f32`: from 0x96 to 0x95) or the significand's first (`f64`, by `$spare`) appears.
macro_rules! fixed {
    ($raw:ty, $wide:ty, $float:ty, $digits:expr, $spare:expr) => {
        impl<const WIDTH: u32, const POINT: u32> Fixed<$raw, WIDTH, POINT> {
            const MAX: $wide = (1 << (WIDTH - 1)) - 1;
            const MIN: $wide = -(1 << (WIDTH - 1));

            #[inline(always)]
            fn saturate(v: $wide, clipped: &mut $wide) -> $wide {
                let kept = v.clamp(Self::MIN, Self::MAX);
                *clipped |= v ^ kept;
                kept
            }

            /// The float of the sum 0; see above.
            const START: $float = {
                // One product moves a sum by at most 2^(2 * WIDTH - 2 - POINT).
                assert!(2 * WIDTH - 2 - POINT + $spare < $digits, "products too large for the float");
                ((1u64 << ($digits - 1)) + (1 << (WIDTH - 1))) as $float
            };
            /// The bits that are zero in every sum in range.
            const OUTSIDE: $wide = !((Self::START.to_bits() as $wide) | ((1 << WIDTH) - 1));

            /// Half to even: below one half the sum stays under the next integer, above it passes;
            /// on a tie the integer part's own parity decides.
            #[inline(always)]
            fn round(m: $wide) -> $wide {
                (m + ((1 << POINT) / 2 - 1) + ((m >> POINT) & 1)) >> POINT
            }
        }

        impl<const WIDTH: u32, const POINT: u32> Number for Fixed<$raw, WIDTH, POINT> {
            type Raw = $raw;
            type Wide = $wide;
            type Sum = $float;
            const FORMAT: NumberFormat =
                NumberFormat::Fixed(FixedFormat { width: WIDTH, binary_point: POINT });
            const ONE: $wide = 1 << POINT;
            const SUM_ORIGIN: Option<($float, $float)> = Some(((1u64 << POINT) as $float, Self::START));

            #[inline(always)]
            fn from_raw(raw: i32) -> $raw {
                FixedFormat { width: WIDTH, binary_point: POINT }.wrap(raw) as $raw
            }
            #[inline(always)]
            fn to_raw(value: $raw) -> i32 {
                i32::from(value)
            }
            #[inline(always)]
            fn widen(value: $raw) -> $wide {
                <$wide>::from(value)
            }
            #[inline(always)]
            fn narrow(value: $wide) -> $raw {
                value as $raw
            }
            #[inline(always)]
            fn mac(x: $wide, y: $wide, z: $wide, clipped: &mut $wide) -> $wide {
                Self::saturate(Self::round(x * y + (z << POINT)), clipped)
            }
            #[inline(always)]
            fn add(x: $wide, y: $wide, clipped: &mut $wide) -> $wide {
                Self::saturate(x + y, clipped)
            }
            #[inline(always)]
            fn sub(x: $wide, y: $wide, clipped: &mut $wide) -> $wide {
                Self::saturate(x - y, clipped)
            }
            #[inline(always)]
            fn mul(x: $wide, y: $wide, clipped: &mut $wide) -> $wide {
                Self::mac(x, y, 0, clipped)
            }
            #[inline(always)]
            fn abs(x: $wide) -> $wide {
                if x == Self::MIN { x } else { x.abs() }
            }
            #[inline(always)]
            fn sum_input(x: $raw) -> $float {
                <$float>::from(x)
            }
            #[inline(always)]
            fn sum_weight(w: $raw) -> $float {
                <$float>::from(w) / (1u64 << POINT) as $float
            }
            #[inline(always)]
            fn sum_left(seen: $float) -> bool {
                seen.to_bits() as $wide & Self::OUTSIDE != 0
            }
            #[inline(always)]
            fn sum_end(sum: $float) -> $raw {
                // The lowest value has zeros in the low bits.
                let above_minimum = sum.to_bits() as $wide & ((1 << WIDTH) - 1);
                (above_minimum + Self::MIN) as $raw
            }
        }
    };
}

fixed!(i8, i32, f32, f32::MANTISSA_DIGITS, 1);
fixed!(i16, i32, f32, f32::MANTISSA_DIGITS, 1);
fixed!(i32, i64, f64, f64::MANTISSA_DIGITS, 2);

/// IEEE 754 single precision. Never clips.
#[derive(Clone, Copy, Debug, Default)]
pub struct Float;

impl Number for Float {
    type Raw = f32;
    type Wide = f32;
    type Sum = f32;
    const FORMAT: NumberFormat = NumberFormat::Float32;
    const ONE: f32 = 1.0;
    const SUM_ORIGIN: Option<(f32, f32)> = None;

    #[inline(always)]
    fn from_raw(raw: i32) -> f32 {
        f32::from_bits(raw as u32)
    }
    #[inline(always)]
    fn to_raw(value: f32) -> i32 {
        value.to_bits() as i32
    }
    #[inline(always)]
    fn widen(value: f32) -> f32 {
        value
    }
    #[inline(always)]
    fn narrow(value: f32) -> f32 {
        value
    }
    /// Two roundings: the product's, then the sum's.
    #[inline(always)]
    fn mac(x: f32, y: f32, z: f32, _: &mut f32) -> f32 {
        x * y + z
    }
    #[inline(always)]
    fn add(x: f32, y: f32, _: &mut f32) -> f32 {
        x + y
    }
    #[inline(always)]
    fn sub(x: f32, y: f32, _: &mut f32) -> f32 {
        x - y
    }
    #[inline(always)]
    fn mul(x: f32, y: f32, _: &mut f32) -> f32 {
        x * y
    }
    #[inline(always)]
    fn abs(x: f32) -> f32 {
        x.abs()
    }
    #[inline(always)]
    fn sum_input(x: f32) -> f32 {
        x
    }
    #[inline(always)]
    fn sum_weight(w: f32) -> f32 {
        w
    }
    #[inline(always)]
    fn sum_left(_: f32) -> bool {
        false
    }
    #[inline(always)]
    fn sum_end(sum: f32) -> f32 {
        sum
    }
}
