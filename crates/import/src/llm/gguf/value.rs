//! [`Value`]: a value of the metadata.

use std::fmt::{self, Display, Formatter};

use super::cursor::{Cursor, Stop};

/// Bytes of the shortest metadata entry: length of its key, type, and a value of one byte.
pub(super) const LEAST_ENTRY_BYTES: u64 = 8 + 4 + 1;
/// Largest number of arrays within each other.
const DEPTH: usize = 8;
/// Type numbers of values that are not numbers.
const STRING: u32 = 8;
const ARRAY: u32 = 9;

/// Type of a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Unsigned, 8 bits.
    U8,
    /// Signed, 8 bits.
    I8,
    /// Unsigned, 16 bits.
    U16,
    /// Signed, 16 bits.
    I16,
    /// Unsigned, 32 bits.
    U32,
    /// Signed, 32 bits.
    I32,
    /// Float, 32 bits.
    F32,
    /// 0 or 1, 8 bits.
    Bool,
    /// Unsigned, 64 bits.
    U64,
    /// Signed, 64 bits.
    I64,
    /// Float, 64 bits.
    F64,
}

impl Kind {
    fn of(number: u32) -> Option<Self> {
        Some(match number {
            0 => Self::U8,
            1 => Self::I8,
            2 => Self::U16,
            3 => Self::I16,
            4 => Self::U32,
            5 => Self::I32,
            6 => Self::F32,
            7 => Self::Bool,
            10 => Self::U64,
            11 => Self::I64,
            12 => Self::F64,
            _ => return None,
        })
    }

    fn bytes(self) -> usize {
        match self {
            Self::U8 | Self::I8 | Self::Bool => 1,
            Self::U16 | Self::I16 => 2,
            Self::U32 | Self::I32 | Self::F32 => 4,
            Self::U64 | Self::I64 | Self::F64 => 8,
        }
    }
}

/// A number or truth value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number {
    /// Type of the number.
    pub kind: Kind,
    /// Bits of the number; signed ones are extended to 64 bits.
    pub bits: u64,
}

impl Number {
    /// Reads a number from its little-endian bytes.
    fn of(kind: Kind, bytes: &[u8]) -> Self {
        let unsigned = bytes.iter().rev().fold(0, |bits, &byte| bits << 8 | u64::from(byte));
        let signed = |bits: u32| ((unsigned << (64 - bits)) as i64 >> (64 - bits)) as u64;
        let bits = match kind {
            Kind::I8 => signed(8),
            Kind::I16 => signed(16),
            Kind::I32 => signed(32),
            _ => unsigned,
        };
        Self { kind, bits }
    }

    /// Returns the number if it is a non-negative integer.
    pub fn as_u64(self) -> Option<u64> {
        match self.kind {
            Kind::U8 | Kind::U16 | Kind::U32 | Kind::U64 => Some(self.bits),
            Kind::I8 | Kind::I16 | Kind::I32 | Kind::I64 => u64::try_from(self.bits as i64).ok(),
            Kind::F32 | Kind::F64 | Kind::Bool => None,
        }
    }

    /// Returns the number as a float; `None` for a truth value.
    pub fn as_f64(self) -> Option<f64> {
        match self.kind {
            Kind::F32 => Some(f64::from(f32::from_bits(self.bits as u32))),
            Kind::F64 => Some(f64::from_bits(self.bits)),
            Kind::Bool => None,
            Kind::I8 | Kind::I16 | Kind::I32 | Kind::I64 => Some(self.bits as i64 as f64),
            Kind::U8 | Kind::U16 | Kind::U32 | Kind::U64 => Some(self.bits as f64),
        }
    }
}

/// Array of values of one type.
#[derive(Clone, Debug, PartialEq)]
pub enum Array {
    /// Numbers, as in the file.
    Numbers {
        /// Type of the numbers.
        kind: Kind,
        /// Little-endian numbers.
        bytes: Vec<u8>,
    },
    /// Texts.
    Strings(Vec<String>),
    /// Arrays.
    Arrays(Vec<Array>),
}

impl Array {
    /// Returns the numbers. An array of other elements has no numbers.
    pub fn numbers(&self) -> impl Iterator<Item = Number> + '_ {
        let (kind, bytes): (_, &[u8]) = match self {
            Self::Numbers { kind, bytes } => (*kind, bytes),
            Self::Strings(_) | Self::Arrays(_) => (Kind::U8, &[]),
        };
        bytes.chunks_exact(kind.bytes()).map(move |bytes| Number::of(kind, bytes))
    }

    /// Returns the number of elements.
    pub fn count(&self) -> usize {
        match self {
            Self::Numbers { kind, bytes } => bytes.len() / kind.bytes(),
            Self::Strings(strings) => strings.len(),
            Self::Arrays(arrays) => arrays.len(),
        }
    }

    fn read(file: &mut Cursor<'_>, depth: usize) -> Result<Self, Stop> {
        let at = file.offset();
        if depth == 0 {
            return Err(Stop::wrong(at, format!("more than {DEPTH} arrays within each other")));
        }
        let number = file.u32("an array's type")?;
        let place = file.offset();
        let count = file.u64("an array's length")?;
        let least = |least| file.check_count(place, count, least, "elements of an array");
        match (number, Kind::of(number)) {
            (_, Some(kind)) => {
                least(kind.bytes() as u64)?;
                let begin = file.offset();
                let bytes = file.bytes(count * kind.bytes() as u64, "an array")?.to_vec();
                let wrong = bytes.iter().position(|&byte| kind == Kind::Bool && byte > 1);
                wrong.map_or(Ok(()), |wrong| Err(Stop::wrong(begin + wrong as u64, NOT_BOOL)))?;
                Ok(Self::Numbers { kind, bytes })
            }
            (STRING, _) => {
                least(8)?;
                let strings = (0..count).map(|_| file.string("a text of an array"));
                strings.collect::<Result<_, _>>().map(Self::Strings)
            }
            (ARRAY, _) => {
                least(4 + 8)?;
                let arrays = (0..count).map(|_| Self::read(file, depth - 1));
                arrays.collect::<Result<_, _>>().map(Self::Arrays)
            }
            _ => Err(Stop::wrong(at, format!("an array of values of unknown type {number}"))),
        }
    }
}

/// Reason for a truth value other than 0 and 1.
const NOT_BOOL: &str = "a truth value is neither 0 nor 1";

/// Value of the metadata.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// A number or truth value.
    Number(Number),
    /// A text.
    String(String),
    /// An array.
    Array(Array),
}

impl Value {
    /// Reads a type and a value.
    pub(super) fn read(file: &mut Cursor<'_>) -> Result<Self, Stop> {
        let at = file.offset();
        let number = file.u32("a value's type")?;
        match (number, Kind::of(number)) {
            (_, Some(kind)) => {
                let place = file.offset();
                let number = Number::of(kind, file.bytes(kind.bytes() as u64, "a number")?);
                let wrong = kind == Kind::Bool && number.bits > 1;
                if wrong { Err(Stop::wrong(place, NOT_BOOL)) } else { Ok(Self::Number(number)) }
            }
            (STRING, _) => file.string("a text").map(Self::String),
            (ARRAY, _) => Array::read(file, DEPTH).map(Self::Array),
            _ => Err(Stop::wrong(at, format!("a value of unknown type {number}"))),
        }
    }

    /// Returns the value if it is a non-negative integer.
    pub fn as_u64(&self) -> Option<u64> {
        if let Self::Number(number) = self { number.as_u64() } else { None }
    }

    /// Returns the value if it is a number.
    pub fn as_f64(&self) -> Option<f64> {
        if let Self::Number(number) = self { number.as_f64() } else { None }
    }

    /// Returns the value if it is a truth value.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Self::Number(Number { kind: Kind::Bool, bits }) => Some(*bits != 0),
            _ => None,
        }
    }

    /// Returns the value if it is a text.
    pub fn as_str(&self) -> Option<&str> {
        if let Self::String(text) = self { Some(text) } else { None }
    }

    /// Returns the value if it is an array.
    pub fn as_array(&self) -> Option<&Array> {
        if let Self::Array(array) = self { Some(array) } else { None }
    }
}

impl Display for Value {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Number(Number { kind: Kind::Bool, bits }) => write!(f, "{}", *bits != 0),
            Self::Number(number) => match (number.kind, number.as_f64()) {
                (Kind::F32 | Kind::F64, Some(float)) => write!(f, "{float}"),
                (Kind::I8 | Kind::I16 | Kind::I32 | Kind::I64, _) => write!(f, "{}", number.bits as i64),
                _ => write!(f, "{}", number.bits),
            },
            Self::String(text) => write!(f, "{text:?}"),
            Self::Array(array) => write!(f, "an array of {} elements", array.count()),
        }
    }
}
