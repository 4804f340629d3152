//! Conversion of tensor elements in a file to a [`Tensor`]: packed into bytes ([`from_raw`]), or
//! one per word ([`from_words`]).
//!
//! Source: the comments at the fields of ONNX's and of TensorFlow's `TensorProto`. Elements
//! narrower than a byte are packed starting at the lowest bit.

use npukit_graph::OpError;
use npukit_numeric::{ElementType, SmallFloat, Tensor, TensorData};

use crate::error::Reason;
use crate::shape::tensor;

/// Converts little-endian bytes to a tensor. Their number must match the shape.
pub(crate) fn from_raw(element: ElementType, shape: Vec<usize>, raw: &[u8]) -> Result<Tensor, Reason> {
    // The shape is checked, so its product fits a machine word.
    let count = shape.iter().product::<usize>();
    let expected = (count * element.bits()).div_ceil(8);
    if raw.len() != expected {
        return Err(Reason::DataSize { shape, expected, found: raw.len(), unit: "bytes" });
    }
    match element.bits() {
        64 => from_words(element, shape, words(raw).map(u64::from_le_bytes)),
        32 => from_words(element, shape, words(raw).map(|bytes| u32::from_le_bytes(bytes).into())),
        16 => from_words(element, shape, words(raw).map(|bytes| u16::from_le_bytes(bytes).into())),
        8 => from_words(element, shape, raw.iter().map(|&byte| byte.into())),
        bits => from_words(element, shape, packed(raw, bits, count)),
    }
}

/// Converts words to a tensor. The bits of an element are the lowest bits of its word.
pub(crate) fn from_words(
    element: ElementType,
    shape: Vec<usize>,
    words: impl Iterator<Item = u64>,
) -> Result<Tensor, Reason> {
    typed(element, shape, of_words(element, words))
}

/// Converts words to elements. The bits of an element are the lowest bits of its word.
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

/// Unpacks `count` numbers of `bits` bits, starting at the lowest bit of the first byte.
pub(crate) fn packed(bytes: &[u8], bits: usize, count: usize) -> impl Iterator<Item = u64> {
    // Default: the last number may end with the last byte; the upper bits of the pair are masked
    // then.
    let byte = |index: usize| bytes.get(index).copied().unwrap_or(0);
    (0..count).map(move |index| {
        let (first, shift) = (index * bits / 8, index * bits % 8);
        let pair = u16::from_le_bytes([byte(first), byte(first + 1)]);
        u64::from(pair >> shift & ((1 << bits) - 1))
    })
}

/// Joins a shape and elements, and restores the signs of narrow integers.
pub(crate) fn typed(element: ElementType, shape: Vec<usize>, data: TensorData) -> Result<Tensor, Reason> {
    let refused = |error| Reason::Shape(OpError::Element { op: "constant", error });
    tensor(shape, data)?.with_element(element).map_err(refused)
}

/// Repeats the only element of `value` to `shape`, which must be within the size limits. Returns
/// `None` if `value` does not have exactly one element.
pub(crate) fn repeated(value: &Tensor, shape: Vec<usize>) -> Result<Option<Tensor>, Reason> {
    let count = shape.iter().product();
    let data = match value.data() {
        TensorData::F32(values) if values.len() == 1 => TensorData::F32(values.repeat(count)),
        TensorData::I64(values) if values.len() == 1 => TensorData::I64(values.repeat(count)),
        TensorData::I32(values) if values.len() == 1 => TensorData::I32(values.repeat(count)),
        TensorData::Bool(values) if values.len() == 1 => TensorData::Bool(values.repeat(count)),
        _ => return Ok(None),
    };
    typed(value.element(), shape, data).map(Some)
}

/// Splits `raw` into words of `N` bytes, without an incomplete last word.
fn words<const N: usize>(raw: &[u8]) -> impl Iterator<Item = [u8; N]> {
    raw.as_chunks().0.iter().copied()
}
