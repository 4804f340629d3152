//! Element types of tensors, [`ElementType`], and their storage, [`Storage`].
//!
//! They are the types of the ONNX standard except strings and complex numbers.

use serde::{Deserialize, Serialize};

use crate::small_float::SmallFloat;
use ElementType::*;

/// The element type of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub enum ElementType {
    /// 32-bit float.
    F32,
    /// 64-bit float, *stored in single precision*: accelerators use less, and no known network
    /// needs more.
    F64,
    /// IEEE 754 half-precision float.
    F16,
    /// The upper half of a 32-bit float.
    BF16,
    /// 8-bit float of 4 exponent and 3 fraction bits, without infinities.
    F8E4M3FN,
    /// Like [`ElementType::F8E4M3FN`] with another bias and no negative zero.
    F8E4M3FNUZ,
    /// 8-bit float of 5 exponent and 2 fraction bits.
    F8E5M2,
    /// Like [`ElementType::F8E5M2`] with another bias, no infinities and no negative zero.
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
    /// 64-bit unsigned integer; values above the largest signed one are rejected.
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
    /// Boolean.
    Bool,
}

/// Storage of a tensor's elements: the variants of [`TensorData`](crate::TensorData).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Storage {
    /// 32-bit floats, for all float types.
    F32,
    /// 64-bit integers, for integer types that signed 32-bit integers cannot hold.
    I64,
    /// 32-bit integers, for all other integer types.
    I32,
    /// Booleans.
    Bool,
}

impl Storage {
    /// Returns the element type that has every value of the storage.
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
    /// All element types.
    pub const ALL: [Self; 25] = [
        F32, F64, F16, BF16, F8E4M3FN, F8E4M3FNUZ, F8E5M2, F8E5M2FNUZ, F8E8M0, F6E2M3, F6E3M2, F4E2M1, I64,
        I32, I16, I8, I4, I2, U64, U32, U16, U8, U4, U2, Bool,
    ];

    /// Returns the standard's name, in lower case.
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

    /// Returns the bits of an element in a packed file.
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

    /// Returns the storage of a tensor of the type.
    pub fn storage(self) -> Storage {
        match self {
            Bool => Storage::Bool,
            I64 | U64 | U32 => Storage::I64,
            I32 | I16 | I8 | I4 | I2 | U16 | U8 | U4 | U2 => Storage::I32,
            _ => Storage::F32,
        }
    }

    /// Whether the type is a float type.
    pub fn is_float(self) -> bool {
        self.storage() == Storage::F32
    }

    /// Whether the type is an integer type.
    pub fn is_integer(self) -> bool {
        matches!(self.storage(), Storage::I64 | Storage::I32)
    }

    /// Returns the smallest and the largest integer of the type that a tensor can store (see
    /// [`ElementType::U64`]). `None` unless it is an integer type.
    pub fn integer_range(self) -> Option<(i64, i64)> {
        let bits = self.bits() as u32;
        match self {
            I64 | I32 | I16 | I8 | I4 | I2 => Some((i64::MIN >> (64 - bits), i64::MAX >> (64 - bits))),
            U64 => Some((0, i64::MAX)),
            U32 | U16 | U8 | U4 | U2 => Some((0, (1 << bits) - 1)),
            _ => None,
        }
    }

    /// Returns the format of a float type of at most 16 bits.
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
