//! Types in which an instance computes: [`DataType`], a name of the specification's section 5.1.
//!
//! A *raw* value is an `i32`: the sign-extended integer of a fixed-point type, or the bits of a
//! float. [`crate::machine::rounding`] defines the meaning of raw values and the rounding of
//! results.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use thiserror::Error;

/// Type of the elements of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DataType {
    /// `intW` and `fxW_F`: an integer of `W` bits, times `2^-F`.
    Fixed(Fixed),
    /// Finite binary16.
    Fp16,
    /// Finite bfloat16.
    Bf16,
    /// Finite binary32.
    Fp32,
}

/// Fixed-point type: an integer in two's complement, times `2^-fraction`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fixed {
    width: u32,
    fraction: i32,
}

/// Error for a name that is not a type.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error(
    "there is no type `{0}`: legal types are intW with W from 2 to 32, fxW_F with F from -64 to 64 (mF below 0), \
     fp16, bf16 and fp32"
)]
pub struct UnknownType(pub String);

impl Fixed {
    /// Returns the type of `width` bits, where `fraction` are fraction bits; `None` unless
    /// 2 <= `width` <= 32 and -64 <= `fraction` <= 64.
    pub const fn new(width: u32, fraction: i32) -> Option<Self> {
        if width < 2 || width > 32 || fraction < -64 || fraction > 64 {
            return None;
        }
        Some(Self { width, fraction })
    }

    /// Returns the width in bits, 2 to 32.
    pub const fn width(self) -> u32 {
        self.width
    }

    /// Returns the number of fraction bits; negative if the unit is larger than 1.
    pub const fn fraction(self) -> i32 {
        self.fraction
    }

    /// Returns the largest raw value.
    pub const fn max(self) -> i32 {
        i32::MAX >> (32 - self.width)
    }

    /// Returns the smallest raw value.
    pub const fn min(self) -> i32 {
        i32::MIN >> (32 - self.width)
    }
}

impl DataType {
    /// `int8`.
    pub const INT8: Self = Self::Fixed(Fixed { width: 8, fraction: 0 });
    /// `int16`.
    pub const INT16: Self = Self::Fixed(Fixed { width: 16, fraction: 0 });
    /// `int32`.
    pub const INT32: Self = Self::Fixed(Fixed { width: 32, fraction: 0 });

    /// Returns the bytes of an element in memory: 1, 2 or 4.
    pub const fn size_bytes(self) -> u32 {
        match self {
            Self::Fixed(fixed) if fixed.width <= 8 => 1,
            Self::Fixed(fixed) if fixed.width <= 16 => 2,
            Self::Fp16 | Self::Bf16 => 2,
            Self::Fixed(_) | Self::Fp32 => 4,
        }
    }

    /// Returns `ceil(log2(max |value|))`, the exponent of full scale.
    pub const fn delta(self) -> i32 {
        match self {
            Self::Fixed(fixed) => fixed.width as i32 - 1 - fixed.fraction,
            Self::Fp16 => 16,
            Self::Bf16 | Self::Fp32 => 128,
        }
    }

    /// Returns the fixed-point type; `None` for floats.
    pub const fn fixed(self) -> Option<Fixed> {
        match self {
            Self::Fixed(fixed) => Some(fixed),
            _ => None,
        }
    }
}

impl fmt::Display for DataType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(Fixed { width, fraction: 0 }) => write!(f, "int{width}"),
            Self::Fixed(Fixed { width, fraction }) if *fraction < 0 => write!(f, "fx{width}_m{}", -fraction),
            Self::Fixed(Fixed { width, fraction }) => write!(f, "fx{width}_{fraction}"),
            Self::Fp16 => f.write_str("fp16"),
            Self::Bf16 => f.write_str("bf16"),
            Self::Fp32 => f.write_str("fp32"),
        }
    }
}

impl FromStr for DataType {
    type Err = UnknownType;

    fn from_str(name: &str) -> Result<Self, UnknownType> {
        match name {
            "fp16" => Ok(Self::Fp16),
            "bf16" => Ok(Self::Bf16),
            "fp32" => Ok(Self::Fp32),
            _ => fixed(name).map(Self::Fixed).ok_or_else(|| UnknownType(name.to_owned())),
        }
    }
}

fn fixed(name: &str) -> Option<Fixed> {
    if let Some(width) = name.strip_prefix("int") {
        return Fixed::new(digits(width)?, 0);
    }
    let (width, fraction) = name.strip_prefix("fx")?.split_once('_')?;
    let (sign, fraction) = match fraction.strip_prefix('m') {
        Some(fraction) => (-1, fraction),
        None => (1, fraction),
    };
    Fixed::new(digits(width)?, sign * i32::try_from(digits(fraction)?).ok()?)
}

/// Parses a number that consists only of digits, without a sign.
fn digits(text: &str) -> Option<u32> {
    text.bytes().all(|byte| byte.is_ascii_digit()).then(|| text.parse().ok())?
}

impl Serialize for DataType {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for DataType {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    #[test]
    fn names_sizes_and_full_scales() {
        for (name, size, delta) in [
            ("int8", 1, 7),
            ("int16", 2, 15),
            ("int32", 4, 31),
            ("int2", 1, 1),
            ("fx8_5", 1, 2),
            ("fx16_9", 2, 6),
            ("fx12_m64", 2, 75),
            ("fx24_16", 4, 7),
            ("fp16", 2, 16),
            ("bf16", 2, 128),
            ("fp32", 4, 128),
        ] {
            let data_type: DataType = name.parse().unwrap();
            assert_eq!((data_type.size_bytes(), data_type.delta()), (size, delta), "{name}");
            assert_eq!(data_type.to_string(), name);
        }
        assert_eq!("fx16_0".parse(), Ok(DataType::INT16));
    }

    #[test]
    fn other_names_are_refused() {
        for name in [
            "", "int", "int1", "int33", "int+8", "fx8", "fx8_65", "fx8_m65", "fx8_-1", "fp8", "uint8",
            "tf32", "Int8",
        ] {
            assert!(name.parse::<DataType>().is_err(), "{name}");
        }
    }
}
