//! Number formats fixed at compile time, for code that must be fast: [`Number`].
//!
//! [`Fixed`] and [`Float`] have no size; they choose how a raw value is stored and computed with.
//! Their arithmetic must equal that of [`NumberFormat`]: `tests/main/number.rs` compares them.

use std::marker::PhantomData;

use crate::format::{FixedFormat, NumberFormat};

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
    /// 1.0.
    const ONE: Self::Wide;

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
}

/// A fixed-point format of `WIDTH` bits, `POINT` of them fraction, stored in `S`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Fixed<S, const WIDTH: u32, const POINT: u32>(PhantomData<S>);

/// Fixed point in `$raw`, computed in `$wide`, which must hold `x * y + (z << POINT)` exactly.
macro_rules! fixed {
    ($raw:ty, $wide:ty) => {
        impl<const WIDTH: u32, const POINT: u32> Fixed<$raw, WIDTH, POINT> {
            const MAX: $wide = (1 << (WIDTH - 1)) - 1;
            const MIN: $wide = -(1 << (WIDTH - 1));

            #[inline(always)]
            fn saturate(v: $wide, clipped: &mut $wide) -> $wide {
                let kept = v.clamp(Self::MIN, Self::MAX);
                *clipped |= v ^ kept;
                kept
            }

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
            const FORMAT: NumberFormat =
                NumberFormat::Fixed(FixedFormat { width: WIDTH, binary_point: POINT });
            const ONE: $wide = 1 << POINT;

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
        }
    };
}

fixed!(i8, i32);
fixed!(i16, i32);
fixed!(i32, i64);

/// IEEE 754 single precision. Never clips.
#[derive(Clone, Copy, Debug, Default)]
pub struct Float;

impl Number for Float {
    type Raw = f32;
    type Wide = f32;
    const FORMAT: NumberFormat = NumberFormat::Float32;
    const ONE: f32 = 1.0;

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
}
