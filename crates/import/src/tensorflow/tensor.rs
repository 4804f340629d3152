//! Tensors of a file to [`Tensor`]: dimensions and sizes are checked before anything is held.

use npukit_numeric::{ElementType, Tensor, TensorData};

use super::error::Reason;
use super::proto::{TensorProto, TensorShapeProto, data_type};
use crate::shape::{shape, tensor};

/// Names of the element types, by code.
const NAMES: [&str; 24] = [
    "invalid",
    "float32",
    "float64",
    "int32",
    "uint8",
    "int16",
    "int8",
    "string",
    "complex64",
    "int64",
    "bool",
    "qint8",
    "quint8",
    "qint32",
    "bfloat16",
    "qint16",
    "quint16",
    "uint16",
    "complex128",
    "float16",
    "resource",
    "variant",
    "uint32",
    "uint64",
];

/// The element type behind a code of the file.
pub(super) fn element_type(code: i32) -> Result<ElementType, Reason> {
    match code {
        data_type::FLOAT => Ok(ElementType::F32),
        data_type::INT32 => Ok(ElementType::I32),
        data_type::INT64 => Ok(ElementType::I64),
        data_type::BOOL => Ok(ElementType::Bool),
        _ => {
            let name = usize::try_from(code).ok().and_then(|code| NAMES.get(code));
            Err(Reason::ElementType { name: name.map_or(format!("{code}"), |&name| name.to_owned()) })
        }
    }
}

/// The shape of a tensor, all of whose sizes must be known.
fn dimensions(proto: &TensorProto) -> Result<Vec<usize>, Reason> {
    let Some(stated) = &proto.tensor_shape else { return Ok(Vec::new()) };
    sizes(stated, -1)
}

/// The sizes that a shape states; unknown ones are `open`.
pub(super) fn sizes(stated: &TensorShapeProto, open: i64) -> Result<Vec<usize>, Reason> {
    if stated.unknown_rank {
        return Err(Reason::NoShape);
    }
    let sizes: Vec<i64> = stated.dim.iter().map(|dim| if dim.size == -1 { open } else { dim.size }).collect();
    shape(&sizes)
}

/// The tensor that a file holds. `reserve` is asked for room before elements are made that the
/// file does not spell out.
pub(super) fn read(
    proto: &TensorProto,
    reserve: impl FnOnce(&[usize]) -> Result<(), Reason>,
) -> Result<Tensor, Reason> {
    let (element, shape) = (element_type(proto.dtype)?, dimensions(proto)?);
    if !proto.tensor_content.is_empty() {
        return from_content(element, shape, &proto.tensor_content);
    }
    let (count, listed) = (shape.iter().product::<usize>(), listed(element, proto));
    if listed > count {
        return Err(Reason::DataSize { shape, expected: count, found: listed, unit: "elements" });
    }
    if listed < count {
        reserve(&shape)?;
    }
    tensor(shape, from_list(element, proto, count))
}

/// The tensor behind little-endian bytes, which must be as many as the shape needs.
fn from_content(element: ElementType, shape: Vec<usize>, content: &[u8]) -> Result<Tensor, Reason> {
    let bits = match element {
        ElementType::F32 | ElementType::I32 => 32,
        ElementType::I64 => 64,
        ElementType::Bool => 8,
    };
    let expected = shape.iter().product::<usize>() * (bits / 8);
    if content.len() != expected {
        return Err(Reason::DataSize { shape, expected, found: content.len(), unit: "bytes" });
    }
    let data = match bits {
        64 => of_words(element, content.as_chunks().0.iter().map(|&bytes| u64::from_le_bytes(bytes))),
        32 => of_words(element, content.as_chunks().0.iter().map(|&b| u32::from_le_bytes(b).into())),
        _ => of_words(element, content.iter().map(|&byte| byte.into())),
    };
    tensor(shape, data)
}

/// The elements whose bits are the lower ones of words.
fn of_words(element: ElementType, words: impl Iterator<Item = u64>) -> TensorData {
    match element {
        ElementType::F32 => TensorData::F32(words.map(|word| f32::from_bits(word as u32)).collect()),
        ElementType::I64 => TensorData::I64(words.map(|word| word as i64).collect()),
        ElementType::Bool => TensorData::Bool(words.map(|word| word != 0).collect()),
        ElementType::I32 => TensorData::I32(words.map(|word| word as i32).collect()),
    }
}

/// How many elements the list of the type spells out.
fn listed(element: ElementType, proto: &TensorProto) -> usize {
    match element {
        ElementType::F32 => proto.float_val.len(),
        ElementType::I64 => proto.int64_val.len(),
        ElementType::I32 => proto.int_val.len(),
        ElementType::Bool => proto.bool_val.len(),
    }
}

/// `count` elements from the list of the type.
fn from_list(element: ElementType, proto: &TensorProto, count: usize) -> TensorData {
    match element {
        ElementType::F32 => of_words(element, filled(&proto.float_val, count, |v| v.to_bits().into())),
        ElementType::I64 => of_words(element, filled(&proto.int64_val, count, |v| v as u64)),
        ElementType::I32 => of_words(element, filled(&proto.int_val, count, |v| v as u64)),
        ElementType::Bool => of_words(element, filled(&proto.bool_val, count, u64::from)),
    }
}

/// The bits of `count` elements: those of the list, the last of which is repeated; zeros when
/// there is none.
fn filled<T: Copy>(list: &[T], count: usize, bits: fn(T) -> u64) -> impl Iterator<Item = u64> {
    let last = list.last().map_or(0, |&value| bits(value));
    list.iter().map(move |&value| bits(value)).chain(std::iter::repeat(last)).take(count)
}
