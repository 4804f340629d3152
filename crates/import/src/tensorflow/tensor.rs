//! Conversion of a file's tensors to [`Tensor`]. Dimensions and sizes are checked before memory is
//! allocated.

use npukit_numeric::{ElementType, Tensor};

use super::error::Reason;
use super::proto::{TensorProto, TensorShapeProto};
use crate::elements::{from_raw, from_words};
use crate::shape::shape;

/// Element types by code of the file; an unsupported type is an error with its name.
const CODES: [Result<ElementType, &str>; 31] = [
    Err("invalid"),
    Ok(ElementType::F32),
    Ok(ElementType::F64),
    Ok(ElementType::I32),
    Ok(ElementType::U8),
    Ok(ElementType::I16),
    Ok(ElementType::I8),
    Err("string"),
    Err("complex64"),
    Ok(ElementType::I64),
    Ok(ElementType::Bool),
    Err("qint8"),
    Err("quint8"),
    Err("qint32"),
    Ok(ElementType::BF16),
    Err("qint16"),
    Err("quint16"),
    Ok(ElementType::U16),
    Err("complex128"),
    Ok(ElementType::F16),
    Err("resource"),
    Err("variant"),
    Ok(ElementType::U32),
    Ok(ElementType::U64),
    Ok(ElementType::F8E5M2),
    Ok(ElementType::F8E4M3FN),
    Err("27"),
    Err("28"),
    Err("29"),
    Err("int4"),
    Err("uint4"),
];

/// Returns the element type of a code in the file.
pub(super) fn element_type(code: i32) -> Result<ElementType, Reason> {
    match usize::try_from(code).ok().and_then(|code| CODES.get(code)) {
        Some(Ok(element)) => Ok(*element),
        Some(Err(name)) => Err(Reason::ElementType { name: (*name).to_owned() }),
        None => Err(Reason::ElementType { name: code.to_string() }),
    }
}

/// Shape of a tensor. All sizes must be known.
fn dimensions(proto: &TensorProto) -> Result<Vec<usize>, Reason> {
    proto.tensor_shape.as_ref().map_or(Ok(Vec::new()), sizes)
}

/// Sizes of a shape. All must be known.
pub(super) fn sizes(stated: &TensorShapeProto) -> Result<Vec<usize>, Reason> {
    if stated.unknown_rank {
        return Err(Reason::NoShape);
    }
    shape(&stated.dim.iter().map(|dim| dim.size).collect::<Vec<_>>())
}

/// Reads a tensor of the file. `reserve` checks the budget before elements are made that the file
/// does not store individually.
pub(super) fn read(
    proto: &TensorProto,
    reserve: impl FnOnce(&[usize]) -> Result<(), Reason>,
) -> Result<Tensor, Reason> {
    let (element, shape) = (element_type(proto.dtype)?, dimensions(proto)?);
    if !proto.tensor_content.is_empty() {
        return from_raw(element, shape, &proto.tensor_content);
    }
    let list = List::of(element, proto);
    let (count, listed) = (shape.iter().product::<usize>(), list.len());
    if listed > count {
        return Err(Reason::DataSize { shape, expected: count, found: listed, unit: "elements" });
    }
    if listed < count {
        reserve(&shape)?;
    }
    from_words(element, shape, list.filled(count))
}

/// List of a tensor's elements, by its type.
enum List<'a> {
    Floats(&'a [f32]),
    Doubles(&'a [f64]),
    Ints(&'a [i32]),
    Longs(&'a [i64]),
    Unsigned(&'a [u32]),
    UnsignedLongs(&'a [u64]),
    Truth(&'a [bool]),
    Bytes(&'a [u8]),
}

impl<'a> List<'a> {
    fn of(element: ElementType, proto: &'a TensorProto) -> Self {
        match element {
            ElementType::F32 => Self::Floats(&proto.float_val),
            ElementType::F64 => Self::Doubles(&proto.double_val),
            ElementType::I64 => Self::Longs(&proto.int64_val),
            ElementType::U32 => Self::Unsigned(&proto.uint32_val),
            ElementType::U64 => Self::UnsignedLongs(&proto.uint64_val),
            ElementType::Bool => Self::Truth(&proto.bool_val),
            ElementType::F16 | ElementType::BF16 => Self::Ints(&proto.half_val),
            ElementType::F8E5M2 | ElementType::F8E4M3FN => Self::Bytes(&proto.float8_val),
            _ => Self::Ints(&proto.int_val),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Floats(list) => list.len(),
            Self::Doubles(list) => list.len(),
            Self::Ints(list) => list.len(),
            Self::Longs(list) => list.len(),
            Self::Unsigned(list) => list.len(),
            Self::UnsignedLongs(list) => list.len(),
            Self::Truth(list) => list.len(),
            Self::Bytes(list) => list.len(),
        }
    }

    /// Returns the bits of the element at `index`, or `None` beyond the end.
    fn word(&self, index: usize) -> Option<u64> {
        match self {
            Self::Floats(list) => list.get(index).map(|value| value.to_bits().into()),
            Self::Doubles(list) => list.get(index).map(|value| value.to_bits()),
            Self::Ints(list) => list.get(index).map(|&value| value as u64),
            Self::Longs(list) => list.get(index).map(|&value| value as u64),
            Self::Unsigned(list) => list.get(index).map(|&value| value.into()),
            Self::UnsignedLongs(list) => list.get(index).copied(),
            Self::Truth(list) => list.get(index).map(|&value| value.into()),
            Self::Bytes(list) => list.get(index).map(|&value| value.into()),
        }
    }

    /// Bits of `count` elements. The last element of the list is repeated; an empty list gives
    /// zeros.
    fn filled(&self, count: usize) -> impl Iterator<Item = u64> {
        // Default: an empty list fills the tensor with zeros.
        let last = self.len().checked_sub(1).and_then(|last| self.word(last)).unwrap_or(0);
        (0..count).map(move |index| self.word(index).unwrap_or(last))
    }
}
