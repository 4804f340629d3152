//! Elements of a tensor in a file, packed into bytes ([`from_raw`]) or in one of the typed fields
//! ([`from_typed`]), to a [`Tensor`].
//!
//! Source: the comments at the fields of `TensorProto` in `onnx.proto`. Elements narrower than a
//! byte follow each other from the lowest bit on.

use npukit_graph::OpError;
use npukit_numeric::{ElementType, SmallFloat, Tensor, TensorData};

use super::super::error::Reason;
use super::super::proto::TensorProto;

/// The tensor behind little-endian bytes, which must be as many as the shape needs.
pub(super) fn from_raw(element: ElementType, shape: Vec<usize>, raw: &[u8]) -> Result<Tensor, Reason> {
    // The shape is checked: its product has no more bits than a word.
    let count = shape.iter().product::<usize>();
    let expected = (count * element.bits()).div_ceil(8);
    if raw.len() != expected {
        return Err(Reason::DataSize { shape, expected, found: raw.len(), unit: "bytes" });
    }
    let data = match element.bits() {
        64 => of_words(element, words(raw).map(u64::from_le_bytes)),
        32 => of_words(element, words(raw).map(|bytes| u32::from_le_bytes(bytes).into())),
        16 => of_words(element, words(raw).map(|bytes| u16::from_le_bytes(bytes).into())),
        8 => of_words(element, raw.iter().map(|&byte| byte.into())),
        bits => of_words(element, packed(raw, bits, count)),
    };
    finish(element, shape, data)
}

/// The tensor in the field that the standard provides for the type.
pub(super) fn from_typed(
    element: ElementType,
    shape: Vec<usize>,
    proto: &TensorProto,
) -> Result<Tensor, Reason> {
    let count = shape.iter().product::<usize>();
    let narrow = matches!(element.bits(), 2 | 4);
    let (found, expected) = match element {
        ElementType::F32 => (proto.float_data.len(), count),
        ElementType::F64 => (proto.double_data.len(), count),
        ElementType::I64 => (proto.int64_data.len(), count),
        ElementType::U64 | ElementType::U32 => (proto.uint64_data.len(), count),
        // Their bytes, each a number.
        _ if narrow => (proto.int32_data.len(), (count * element.bits()).div_ceil(8)),
        _ => (proto.int32_data.len(), count),
    };
    if found != expected {
        return Err(Reason::DataSize { shape, expected, found, unit: "elements" });
    }
    let data = match element {
        ElementType::F32 => TensorData::F32(proto.float_data.clone()),
        ElementType::F64 => TensorData::F32(proto.double_data.iter().map(|&value| value as f32).collect()),
        ElementType::I64 => TensorData::I64(proto.int64_data.clone()),
        ElementType::U64 | ElementType::U32 => of_words(element, proto.uint64_data.iter().copied()),
        _ if narrow => {
            let bytes: Vec<u8> = proto.int32_data.iter().map(|&value| value as u8).collect();
            of_words(element, packed(&bytes, element.bits(), count))
        }
        _ => of_words(element, proto.int32_data.iter().map(|&value| value as u32 as u64)),
    };
    finish(element, shape, data)
}

/// The elements whose bits are the lower ones of words.
fn of_words(element: ElementType, words: impl Iterator<Item = u64>) -> TensorData {
    match (element, element.small_float()) {
        (_, Some(format)) => TensorData::F32(words.map(|word| small(format, word)).collect()),
        (ElementType::F32, _) => TensorData::F32(words.map(|word| f32::from_bits(word as u32)).collect()),
        (ElementType::F64, _) => TensorData::F32(words.map(|word| f64::from_bits(word) as f32).collect()),
        (ElementType::Bool, _) => TensorData::Bool(words.map(|word| word != 0).collect()),
        (ElementType::I64 | ElementType::U64 | ElementType::U32, _) => {
            TensorData::I64(words.map(|word| word as i64).collect())
        }
        _ => TensorData::I32(words.map(|word| word as i32).collect()),
    }
}

fn small(format: SmallFloat, word: u64) -> f32 {
    format.decode(word as u16)
}

/// `count` numbers of `bits` bits, from the lowest bit of the first byte on.
fn packed(bytes: &[u8], bits: usize, count: usize) -> impl Iterator<Item = u64> {
    let byte = |index: usize| bytes.get(index).map_or(0, |&byte| u64::from(byte));
    (0..count).map(move |index| {
        let (first, shift) = (index * bits / 8, index * bits % 8);
        (byte(first) | byte(first + 1) << 8) >> shift & ((1 << bits) - 1)
    })
}

/// Gives the elements their type, which brings back the signs of narrow integers.
fn finish(element: ElementType, shape: Vec<usize>, data: TensorData) -> Result<Tensor, Reason> {
    let refused = |error| Reason::Shape(OpError::Element { op: "constant", error });
    super::tensor(shape, data)?.with_element(element).map_err(refused)
}

/// The whole words of `N` bytes in `raw`.
fn words<const N: usize>(raw: &[u8]) -> impl Iterator<Item = [u8; N]> {
    raw.as_chunks().0.iter().copied()
}
