//! Number formats fixed at compile time, for fast code: [`Number`].
//!
//! [`Fixed`] and [`Float`] are zero-sized; they select how a raw value is stored and computed with.
//! Their arithmetic must equal that of [`NumberFormat`]: `tests/main/number.rs` compares them.

use std::marker::PhantomData;

use crate::format::{FixedFormat, NumberFormat};
use crate::simd::SumFloat;

/// A number format known at compile time.
///
/// Operations work on [`Number::Wide`] values inside the format's range. An operation that can
/// saturate takes `clipped`, and sets it to a nonzero value if it does; otherwise it leaves it
/// unchanged. The caller then repeats the work with [`NumberFormat`] to get the statistics.
pub trait Number: Copy + Send + Sync + 'static {
    /// A raw value as stored.
    type Raw: Copy + Default + PartialEq + std::fmt::Debug + Send + Sync + 'static;
    /// A raw value in a register, and the mask of clipped bits.
    type Wide: Copy + Default + PartialEq + PartialOrd;
    /// The format at run time.
    const FORMAT: NumberFormat;
    /// Float type in which the array product keeps its running sums.
    type Sum: SumFloat;
    /// The number 1.0.
    const ONE: Self::Wide;
    /// Representation of running sums as integers inside floats: 1.0 as a raw value, and the float
    /// that represents the sum 0. A step is then a fused multiply-add, `input * weight + sum`.
    /// `None` for formats whose steps round the product first.
    const SUM_ORIGIN: Option<(Self::Sum, Self::Sum)>;

    /// Converts from a raw value; a fixed format uses only the low bits.
    fn from_raw(raw: i32) -> Self::Raw;
    /// Returns the raw value: sign-extended, or the bits of a float.
    fn to_raw(value: Self::Raw) -> i32;
    /// Converts to the register type.
    fn widen(value: Self::Raw) -> Self::Wide;
    /// Converts to the stored type; the value must be in range.
    fn narrow(value: Self::Wide) -> Self::Raw;
    /// Returns `x * y + z`, rounded and saturated.
    fn mac(x: Self::Wide, y: Self::Wide, z: Self::Wide, clipped: &mut Self::Wide) -> Self::Wide;
    /// Returns `x + y`, saturated.
    fn add(x: Self::Wide, y: Self::Wide, clipped: &mut Self::Wide) -> Self::Wide;
    /// Returns `x - y`, saturated.
    fn sub(x: Self::Wide, y: Self::Wide, clipped: &mut Self::Wide) -> Self::Wide;
    /// Returns `x * y`, rounded and saturated.
    fn mul(x: Self::Wide, y: Self::Wide, clipped: &mut Self::Wide) -> Self::Wide;
    /// Returns the magnitude of `x`; the most negative fixed value is unchanged.
    fn abs(x: Self::Wide) -> Self::Wide;

    /// Converts an input to a factor of a running sum's step: the raw value.
    fn sum_input(x: Self::Raw) -> Self::Sum;
    /// Converts a weight to a factor of a running sum's step: the real value.
    fn sum_weight(w: Self::Raw) -> Self::Sum;
    /// Whether a sum may have left the format's range, given the union of all bits that it and
    /// other sums had. Always true if it has, rarely true if not. Such a sum is invalid from then
    /// on.
    fn sum_left(seen: Self::Sum) -> bool;
    /// Returns the raw value of a sum that never left the range.
    fn sum_end(sum: Self::Sum) -> Self::Raw;
}

/// A fixed-point format of `WIDTH` bits, `POINT` of them fraction bits, stored in `S`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fixed<S, const WIDTH: u32, const POINT: u32>(PhantomData<S>);

/// Fixed point in `$raw`, computed in `$wide`, which must hold `x * y + (z << POINT)` exactly.
///
/// Running sums are kept in `$float`, in a range where its last bit is worth one raw unit: the sum
/// `s` is the float `START + s`. `START` is a power of two `2^($digits - 1)`, so large that the
/// significand has no fraction bits, plus half the format's range, so that sums in range are at
/// least that power. There, a fused multiply-add computes exactly and rounds once, to a whole
/// number of raw units, half to even. `START` is even, so the float is even if `s` is. This is the
/// hardware's rounding, in one instruction, for every weight.
///
/// In range, a sum changes only the low `WIDTH` bits of the float. Out of range, another bit
/// changes. Above the range, it is a bit of the significand. Below, the exponent decreases by one,
/// and either its last bit (`f32`: from 0x96 to 0x95) or the first bit of the significand (`f64`,
/// by `$spare`) is set.
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

            /// Float that represents the sum 0; see above.
            const START: $float = {
                // One product changes a sum by at most 2^(2 * WIDTH - 2 - POINT).
                assert!(2 * WIDTH - 2 - POINT + $spare < $digits, "products too large for the float");
                ((1u64 << ($digits - 1)) + (1 << (WIDTH - 1))) as $float
            };
            /// Bits that are zero in every sum in range.
            const OUTSIDE: $wide = !((Self::START.to_bits() as $wide) | ((1 << WIDTH) - 1));

            /// Rounds half to even: below one half the sum stays below the next integer, above it
            /// exceeds it. On a tie the parity of the integer part decides.
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
    /// Rounds twice: the product, then the sum.
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
