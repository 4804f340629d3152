//! Elements of an array: their types, and from bytes to [`TensorData`].

use crate::npy::NpyErrorKind;
use crate::npy::header::{At, Header};
use crate::tensor::TensorData;

/// The type of an element: kind and size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F16,
    F32,
    F64,
}

/// The type of an element, and its byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Element {
    kind: Kind,
    big_endian: bool,
}

impl Element {
    /// Of a `descr` such as `<f4`.
    pub fn parse(descr: &[u8]) -> Option<Self> {
        let (order, kind) = match descr {
            [order @ (b'<' | b'>' | b'|' | b'='), kind @ ..] => (*order, kind),
            kind => (b'=', kind),
        };
        let kind = match kind {
            b"b1" | b"?" => Kind::Bool,
            b"i1" => Kind::I8,
            b"i2" => Kind::I16,
            b"i4" => Kind::I32,
            b"i8" => Kind::I64,
            b"u1" => Kind::U8,
            b"u2" => Kind::U16,
            b"u4" => Kind::U32,
            b"u8" => Kind::U64,
            b"f2" => Kind::F16,
            b"f4" => Kind::F32,
            b"f8" => Kind::F64,
            _ => return None,
        };
        let big_endian = order == b'>' || (order == b'=' && cfg!(target_endian = "big"));
        Some(Self { kind, big_endian })
    }

    /// Bytes of an element.
    pub fn bytes(self) -> usize {
        match self.kind {
            Kind::Bool | Kind::I8 | Kind::U8 => 1,
            Kind::I16 | Kind::U16 | Kind::F16 => 2,
            Kind::I32 | Kind::U32 | Kind::F32 => 4,
            Kind::I64 | Kind::U64 | Kind::F64 => 8,
        }
    }
}

impl Header {
    /// The elements in row-major order. `bytes` has as many as the header says.
    pub fn decode(&self, bytes: &[u8]) -> At<TensorData> {
        match self.element.kind {
            Kind::Bool => self.map(bytes, |[b]: [u8; 1]| b != 0).map(TensorData::Bool),
            Kind::I8 => self.map(bytes, |b| i8::from_le_bytes(b).into()).map(TensorData::I32),
            Kind::I16 => self.map(bytes, |b| i16::from_le_bytes(b).into()).map(TensorData::I32),
            Kind::I32 => self.map(bytes, i32::from_le_bytes).map(TensorData::I32),
            Kind::I64 => self.map(bytes, i64::from_le_bytes).map(TensorData::I64),
            Kind::U8 => self.map(bytes, |b| u8::from_le_bytes(b).into()).map(TensorData::I32),
            Kind::U16 => self.map(bytes, |b| u16::from_le_bytes(b).into()).map(TensorData::I32),
            Kind::U32 => self.map(bytes, |b| u32::from_le_bytes(b).into()).map(TensorData::I64),
            Kind::U64 => self.unsigned(bytes),
            Kind::F16 => self.map(bytes, |b| half(u16::from_le_bytes(b))).map(TensorData::F32),
            Kind::F32 => self.map(bytes, f32::from_le_bytes).map(TensorData::F32),
            Kind::F64 => self.map(bytes, |b| f64::from_le_bytes(b) as f32).map(TensorData::F32),
        }
    }

    /// Each element, its bytes brought to little-endian, in row-major order.
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

    /// 64-bit unsigned integers, as long as they fit signed ones.
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

/// Column-major values in row-major order.
fn row_major<T: Copy>(shape: &[usize], values: Vec<T>) -> Vec<T> {
    let mut index = vec![0; shape.len()];
    let mut steps = Vec::with_capacity(shape.len());
    let mut step = 1;
    for &size in shape {
        steps.push(step);
        // With a size of 0 there is no value; whatever the product is, nobody uses it.
        step = usize::wrapping_mul(step, size);
    }
    let mut at = 0;
    let mut next = || {
        let value = values.get(at).copied();
        // Counts up the last axis first.
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

/// An IEEE 754 half-precision value.
fn half(bits: u16) -> f32 {
    let sign = u32::from(bits >> 15) << 31;
    let exponent = u32::from(bits >> 10) & 0x1F;
    let fraction = u32::from(bits) & 0x3FF;
    match exponent {
        // Below the smallest normal number: multiples of 2^-24.
        0 => f32::from_bits(sign | (fraction as f32 / 16_777_216.0).to_bits()),
        0x1F => f32::from_bits(sign | 0x7F80_0000 | fraction << 13),
        _ => f32::from_bits(sign | (exponent + 112) << 23 | fraction << 13),
    }
}

#[cfg(test)]
mod tests {
    use super::half;

    #[test]
    fn halves_of_every_kind() {
        let cases = [
            (0x0000, 0.0),
            (0x0001, 2f32.powi(-24)),
            (0x03FF, 1023.0 * 2f32.powi(-24)),
            (0x0400, 2f32.powi(-14)),
            (0x3C00, 1.0),
            (0x3555, 0.333_251_95),
            (0xC000, -2.0),
            (0x7BFF, 65504.0),
            (0x7C00, f32::INFINITY),
            (0xFC00, f32::NEG_INFINITY),
        ];
        for (bits, value) in cases {
            assert_eq!(half(bits), value, "{bits:#06x}");
        }
        assert!(half(0x7E00).is_nan());
        assert!(half(0x8000).is_sign_negative());
    }
}
