//! Element types of tensors: [`ElementType`], and how each is held ([`Storage`]).
//!
//! They are those of the ONNX standard but strings and complex numbers.

use serde::{Deserialize, Serialize};

use crate::small_float::SmallFloat;
use ElementType::*;

/// The element type of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ElementType {
    /// 32-bit float.
    F32,
    /// 64-bit float, *held in single precision*: accelerators compute with less, and no network
    /// we know depends on more.
    F64,
    /// IEEE 754 half-precision float.
    F16,
    /// The upper half of a 32-bit float.
    BF16,
    /// 8-bit float of 4 exponent and 3 fraction bits, without infinities.
    F8E4M3FN,
    /// As [`ElementType::F8E4M3FN`] with another bias and no negative zero.
    F8E4M3FNUZ,
    /// 8-bit float of 5 exponent and 2 fraction bits.
    F8E5M2,
    /// As [`ElementType::F8E5M2`] with another bias, no infinities and no negative zero.
    F8E5M2FNUZ,
    /// 8-bit power of two, the scale of a block.
    F8E8M0,
    /// 6-bit float of 2 exponent and 3 fraction bits, finite only.
    F6E2M3,
    /// 6-bit float of 3 exponent and 2 fraction bits, finite only.
    F6E3M2,
    /// 4-bit float of 2 exponent bits and 1 fraction bit, finite only.
    F4E2M1,
    /// 64-bit integer.
    I64,
    /// 32-bit integer.
    I32,
    /// 16-bit integer.
    I16,
    /// 8-bit integer.
    I8,
    /// 4-bit integer.
    I4,
    /// 2-bit integer.
    I2,
    /// 64-bit unsigned integer; values above the largest signed one are refused, never wrong.
    U64,
    /// 32-bit unsigned integer.
    U32,
    /// 16-bit unsigned integer.
    U16,
    /// 8-bit unsigned integer.
    U8,
    /// 4-bit unsigned integer.
    U4,
    /// 2-bit unsigned integer.
    U2,
    /// Truth value.
    Bool,
}

/// How the elements of a tensor are held: the variants of [`TensorData`](crate::TensorData).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Storage {
    /// 32-bit floats; all float types.
    F32,
    /// 64-bit integers; integer types that 32 bits with a sign cannot hold.
    I64,
    /// 32-bit integers; integer types that they can hold.
    I32,
    /// Truth values.
    Bool,
}

impl Storage {
    /// The element type that has every value the storage has.
    pub fn element(self) -> ElementType {
        match self {
            Self::F32 => F32,
            Self::I64 => I64,
            Self::I32 => I32,
            Self::Bool => Bool,
        }
    }
}

impl ElementType {
    /// All of them.
    pub const ALL: [Self; 25] = [
        F32, F64, F16, BF16, F8E4M3FN, F8E4M3FNUZ, F8E5M2, F8E5M2FNUZ, F8E8M0, F6E2M3, F6E3M2, F4E2M1, I64,
        I32, I16, I8, I4, I2, U64, U32, U16, U8, U4, U2, Bool,
    ];

    /// The standard's name, in small letters.
    pub fn name(self) -> &'static str {
        match self {
            F32 => "float32",
            F64 => "float64",
            F16 => "float16",
            BF16 => "bfloat16",
            F8E4M3FN => "float8e4m3fn",
            F8E4M3FNUZ => "float8e4m3fnuz",
            F8E5M2 => "float8e5m2",
            F8E5M2FNUZ => "float8e5m2fnuz",
            F8E8M0 => "float8e8m0",
            F6E2M3 => "float6e2m3",
            F6E3M2 => "float6e3m2",
            F4E2M1 => "float4e2m1",
            I64 => "int64",
            I32 => "int32",
            I16 => "int16",
            I8 => "int8",
            I4 => "int4",
            I2 => "int2",
            U64 => "uint64",
            U32 => "uint32",
            U16 => "uint16",
            U8 => "uint8",
            U4 => "uint4",
            U2 => "uint2",
            Bool => "bool",
        }
    }

    /// Bits of an element in a file that packs them.
    pub fn bits(self) -> usize {
        match self {
            F64 | I64 | U64 => 64,
            F32 | I32 | U32 => 32,
            F16 | BF16 | I16 | U16 => 16,
            F8E4M3FN | F8E4M3FNUZ | F8E5M2 | F8E5M2FNUZ | F8E8M0 | I8 | U8 | Bool => 8,
            F6E2M3 | F6E3M2 => 6,
            F4E2M1 | I4 | U4 => 4,
            I2 | U2 => 2,
        }
    }

    /// How a tensor of the type is held.
    pub fn storage(self) -> Storage {
        match self {
            Bool => Storage::Bool,
            I64 | U64 | U32 => Storage::I64,
            I32 | I16 | I8 | I4 | I2 | U16 | U8 | U4 | U2 => Storage::I32,
            _ => Storage::F32,
        }
    }

    /// Whether the values are floats.
    pub fn is_float(self) -> bool {
        self.storage() == Storage::F32
    }

    /// Whether the values are integers.
    pub fn is_integer(self) -> bool {
        matches!(self.storage(), Storage::I64 | Storage::I32)
    }

    /// The least and the largest integer of the type, as far as a tensor can hold them (see
    /// [`ElementType::U64`]); `None` unless it is an integer type.
    pub fn integer_range(self) -> Option<(i64, i64)> {
        let bits = self.bits() as u32;
        match self {
            I64 | I32 | I16 | I8 | I4 | I2 => Some((i64::MIN >> (64 - bits), i64::MAX >> (64 - bits))),
            U64 => Some((0, i64::MAX)),
            U32 | U16 | U8 | U4 | U2 => Some((0, (1 << bits) - 1)),
            _ => None,
        }
    }

    /// The format of a float type of at most 16 bits.
    pub fn small_float(self) -> Option<SmallFloat> {
        match self {
            F16 => Some(SmallFloat::F16),
            BF16 => Some(SmallFloat::BF16),
            F8E4M3FN => Some(SmallFloat::F8E4M3FN),
            F8E4M3FNUZ => Some(SmallFloat::F8E4M3FNUZ),
            F8E5M2 => Some(SmallFloat::F8E5M2),
            F8E5M2FNUZ => Some(SmallFloat::F8E5M2FNUZ),
            F8E8M0 => Some(SmallFloat::F8E8M0),
            F6E2M3 => Some(SmallFloat::F6E2M3),
            F6E3M2 => Some(SmallFloat::F6E3M2),
            F4E2M1 => Some(SmallFloat::F4E2M1),
            _ => None,
        }
    }
}

impl std::fmt::Display for ElementType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}
