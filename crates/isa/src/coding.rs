//! [`Coding`]: encoding of the values of a field, known at compile time.
//!
//! [`instructions!`](crate::instructions) derives the typed codec of a target and the rows of its
//! table from these codings.

use npukit_base::BitRange;

use crate::spec::{FieldKind, Radix, power};

/// Encoding of the values of a field in its bits.
pub trait Coding {
    /// Returns the content of `bits` for `value`, or `None` if the field cannot hold it.
    fn store(&self, value: u64, bits: BitRange) -> Option<u64>;

    /// Returns the value that `stored`, the content of `bits`, encodes.
    #[inline]
    fn value(&self, stored: u64, _bits: BitRange) -> u64 {
        stored
    }

    /// Returns the description of the coding in the table.
    fn kind(&self) -> FieldKind;
}

/// A number from `min` to `max`, stored as `value - bias`.
#[derive(Clone, Copy, Debug)]
pub struct Number {
    min: u64,
    max: u64,
    bias: u64,
    radix: Radix,
}

/// A two's complement number from `min` to `max`. A value is the `u64` with the same bits.
#[derive(Clone, Copy, Debug)]
pub struct Signed {
    min: i64,
    max: i64,
}

/// A power of two from `2^min` to `2^max`, stored as its exponent.
#[derive(Clone, Copy, Debug)]
pub struct Power {
    min: u32,
    max: u32,
}

/// Named values with the codes 0, 1, 2, ...
#[derive(Clone, Copy, Debug)]
pub struct Choice<'a>(pub &'a [&'a str]);

/// Codes, some with names; codes without a name are written as numbers.
#[derive(Clone, Copy, Debug)]
pub struct Names<'a>(pub &'a [(u64, &'a str)]);

/// A bit, written as this text when set.
#[derive(Clone, Copy, Debug)]
pub struct Flag<'a>(pub &'a str);

/// Named bits, highest first, as in hardware documents.
#[derive(Clone, Copy, Debug)]
pub struct Set<'a>(pub &'a [&'a str]);

impl Number {
    /// Returns a number from `min` to `max`, printed as a decimal.
    pub const fn between(min: u64, max: u64) -> Self {
        Self { min, max, bias: 0, radix: Radix::Decimal }
    }

    /// Returns a number from 0 to `max`, printed in `radix`.
    pub const fn up_to(max: u64, radix: Radix) -> Self {
        Self { min: 0, max, bias: 0, radix }
    }

    /// Returns a size of 1 to `max`, stored as one less.
    pub const fn size(max: u64) -> Self {
        Self { min: 1, max, bias: 1, radix: Radix::Decimal }
    }

    /// Returns a number that may have any value of `bits`, printed in `radix`.
    pub const fn all(bits: BitRange, radix: Radix) -> Self {
        Self::up_to(bits.max(), radix)
    }
}

impl Signed {
    /// Returns a signed number that may have any value of `bits`, which must not be empty.
    pub const fn all(bits: BitRange) -> Self {
        let half = 1 << (bits.width - 1);
        Self { min: -half, max: half - 1 }
    }
}

impl Power {
    /// Returns powers with exponents from `min` to `max`; `max` is at most 63.
    pub const fn between(min: u32, max: u32) -> Self {
        Self { min, max }
    }
}

impl Coding for Number {
    #[inline]
    fn store(&self, value: u64, _bits: BitRange) -> Option<u64> {
        (self.min..=self.max).contains(&value).then(|| value - self.bias)
    }

    #[inline]
    fn value(&self, stored: u64, _bits: BitRange) -> u64 {
        stored.saturating_add(self.bias)
    }

    fn kind(&self) -> FieldKind {
        FieldKind::Number { min: self.min, max: self.max, bias: self.bias, radix: self.radix }
    }
}

impl Coding for Signed {
    #[inline]
    fn store(&self, value: u64, bits: BitRange) -> Option<u64> {
        (self.min..=self.max).contains(&value.cast_signed()).then(|| value & bits.max())
    }

    #[inline]
    fn value(&self, stored: u64, bits: BitRange) -> u64 {
        sign_extended(stored, bits)
    }

    fn kind(&self) -> FieldKind {
        FieldKind::Signed { min: self.min, max: self.max }
    }
}

impl Coding for Power {
    #[inline]
    fn store(&self, value: u64, _bits: BitRange) -> Option<u64> {
        let exponent = value.trailing_zeros();
        (value.is_power_of_two() && (self.min..=self.max).contains(&exponent)).then(|| exponent.into())
    }

    #[inline]
    fn value(&self, stored: u64, _bits: BitRange) -> u64 {
        power(stored)
    }

    fn kind(&self) -> FieldKind {
        FieldKind::Power { min: self.min, max: self.max }
    }
}

impl Coding for Choice<'_> {
    #[inline]
    fn store(&self, value: u64, _bits: BitRange) -> Option<u64> {
        (value < self.0.len() as u64).then_some(value)
    }

    fn kind(&self) -> FieldKind {
        FieldKind::choice(self.0.iter().copied())
    }
}

impl Coding for Names<'_> {
    #[inline]
    fn store(&self, value: u64, bits: BitRange) -> Option<u64> {
        (value <= bits.max()).then_some(value)
    }

    fn kind(&self) -> FieldKind {
        let names = self.0.iter().map(|(code, name)| (*code, (*name).to_owned()));
        FieldKind::Choice { names: names.collect(), open: true }
    }
}

impl Coding for Flag<'_> {
    #[inline]
    fn store(&self, value: u64, _bits: BitRange) -> Option<u64> {
        (value <= 1).then_some(value)
    }

    fn kind(&self) -> FieldKind {
        FieldKind::flag(self.0)
    }
}

impl Coding for Set<'_> {
    #[inline]
    fn store(&self, value: u64, _bits: BitRange) -> Option<u64> {
        (value >> self.0.len() == 0).then_some(value)
    }

    fn kind(&self) -> FieldKind {
        FieldKind::set((0..self.0.len() as u32).rev().zip(self.0.iter().copied()))
    }
}

/// Sign-extends `stored`, the content of `bits`.
#[inline]
pub(crate) fn sign_extended(stored: u64, bits: BitRange) -> u64 {
    let above = u64::BITS - bits.width.clamp(1, u64::BITS);
    ((stored << above).cast_signed() >> above).cast_unsigned()
}

/// Type of the values of a field.
pub trait Operand: Copy {
    /// Returns the value of the field.
    fn into_value(self) -> u64;

    /// Converts a value of the field; `None` if the value has no meaning.
    fn from_value(value: u64) -> Option<Self>;
}

macro_rules! unsigned {
    ($($number:ty)*) => {$(
        impl Operand for $number {
            #[inline]
            fn into_value(self) -> u64 {
                self.into()
            }

            #[inline]
            fn from_value(value: u64) -> Option<Self> {
                value.try_into().ok()
            }
        }
    )*};
}

unsigned!(u8 u16 u32 u64);

macro_rules! signed {
    ($($number:ty)*) => {$(
        impl Operand for $number {
            #[inline]
            fn into_value(self) -> u64 {
                i64::from(self).cast_unsigned()
            }

            #[inline]
            fn from_value(value: u64) -> Option<Self> {
                value.cast_signed().try_into().ok()
            }
        }
    )*};
}

signed!(i8 i16 i32);

impl Operand for bool {
    #[inline]
    fn into_value(self) -> u64 {
        self.into()
    }

    #[inline]
    fn from_value(value: u64) -> Option<Self> {
        match value {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }
}

/// Implements [`Operand`] for an enum: `codes!(TYPE, ALL)`. The array `ALL` has each variant at the
/// index of its code, and the discriminant of the variant is the code.
#[macro_export]
macro_rules! codes {
    ($Type:ty, $all:expr) => {
        impl $crate::coding::Operand for $Type {
            #[inline]
            fn into_value(self) -> u64 {
                self as u64
            }

            #[inline]
            fn from_value(value: u64) -> Option<Self> {
                const {
                    let (all, mut code) = ($all, 0);
                    while code < all.len() {
                        assert!(all[code] as usize == code, "each variant must be at the index of its code");
                        code += 1;
                    }
                }
                $all.get(usize::try_from(value).ok()?).copied()
            }
        }
    };
}

/// Implements [`Operand`] for a structure of flags: `flags!(TYPE, [HIGHEST, .., LOWEST])`, in the
/// order of the names of [`Set`].
#[macro_export]
macro_rules! flags {
    ($Type:ty, [$($flag:ident),+]) => {
        impl $crate::coding::Operand for $Type {
            #[inline]
            fn into_value(self) -> u64 {
                [$(self.$flag),+].into_iter().fold(0, |bits, flag| bits << 1 | u64::from(flag))
            }

            #[inline]
            fn from_value(value: u64) -> Option<Self> {
                let mut bit = [$(stringify!($flag)),+].len();
                $(
                    bit -= 1;
                    let $flag = value >> bit & 1 == 1;
                )+
                Some(Self { $($flag),+ })
            }
        }
    };
}
