//! Elements of an array, from bytes to [`TensorData`].

use crate::element::ElementType;
use crate::npy::header::Header;
use crate::npy::{At, NpyErrorKind};
use crate::small_float::SmallFloat;
use crate::tensor::TensorData;

impl Header {
    /// Returns the elements in row-major order. The length of `bytes` must match the header.
    pub fn decode(&self, bytes: &[u8]) -> At<TensorData> {
        match self.element.element {
            ElementType::Bool => self.map(bytes, |[b]: [u8; 1]| b != 0).map(TensorData::Bool),
            ElementType::I8 => self.map(bytes, |b| i8::from_le_bytes(b).into()).map(TensorData::I32),
            ElementType::I16 => self.map(bytes, |b| i16::from_le_bytes(b).into()).map(TensorData::I32),
            ElementType::I32 => self.map(bytes, i32::from_le_bytes).map(TensorData::I32),
            ElementType::U8 => self.map(bytes, |b| u8::from_le_bytes(b).into()).map(TensorData::I32),
            ElementType::U16 => self.map(bytes, |b| u16::from_le_bytes(b).into()).map(TensorData::I32),
            ElementType::U32 => self.map(bytes, |b| u32::from_le_bytes(b).into()).map(TensorData::I64),
            ElementType::U64 => self.unsigned(bytes),
            ElementType::F16 => self.map(bytes, half).map(TensorData::F32),
            ElementType::F64 => self.map(bytes, |b| f64::from_le_bytes(b) as f32).map(TensorData::F32),
            element if element.is_float() => self.map(bytes, f32::from_le_bytes).map(TensorData::F32),
            _ => self.map(bytes, i64::from_le_bytes).map(TensorData::I64),
        }
    }

    /// Maps each element, with its bytes in little-endian order, and returns them in row-major
    /// order.
    fn map<T: Copy, const SIZE: usize>(&self, bytes: &[u8], element: impl Fn([u8; SIZE]) -> T) -> At<Vec<T>> {
        let (chunks, _) = bytes.as_chunks::<SIZE>();
        let values = chunks.iter().map(|chunk| {
            let mut chunk = *chunk;
            if self.element.big_endian {
                chunk.reverse();
            }
            element(chunk)
        });
        let values = values.collect();
        Ok(if self.fortran_order { row_major(&self.shape, values) } else { values })
    }

    /// Reads 64-bit unsigned integers, which must fit signed ones.
    fn unsigned(&self, bytes: &[u8]) -> At<TensorData> {
        if let Some((i, value)) =
            self.map_in_file_order(bytes).find(|&(_, value)| i64::try_from(value).is_err())
        {
            return Err((i * size_of::<u64>(), NpyErrorKind::TooBig { value }));
        }
        self.map(bytes, i64::from_le_bytes).map(TensorData::I64)
    }

    fn map_in_file_order(&self, bytes: &[u8]) -> impl Iterator<Item = (usize, u64)> {
        let big_endian = self.element.big_endian;
        let word =
            move |b: &[u8; 8]| if big_endian { u64::from_be_bytes(*b) } else { u64::from_le_bytes(*b) };
        bytes.as_chunks().0.iter().map(word).enumerate()
    }
}

/// Converts column-major values to row-major order.
fn row_major<T: Copy>(shape: &[usize], values: Vec<T>) -> Vec<T> {
    let mut index = vec![0; shape.len()];
    let mut steps = Vec::with_capacity(shape.len());
    let mut step = 1;
    for &size in shape {
        steps.push(step);
        // With a size of 0 the array is empty, and the wrapped product is not used.
        step = usize::wrapping_mul(step, size);
    }
    let mut at = 0;
    let mut next = || {
        let value = values.get(at).copied();
        // Increments the index along the last axis first.
        for axis in (0..shape.len()).rev() {
            index[axis] += 1;
            at += steps[axis];
            if index[axis] < shape[axis] {
                break;
            }
            at -= steps[axis] * index[axis];
            index[axis] = 0;
        }
        value
    };
    (0..values.len()).filter_map(|_| next()).collect()
}

fn half(bytes: [u8; 2]) -> f32 {
    SmallFloat::F16.decode(u16::from_le_bytes(bytes))
}
