//! Arrays to bytes of an `.npy`: [`write_npy`].

use crate::element::ElementType;
use crate::npy::header::MAGIC;
use crate::small_float::SmallFloat;
use crate::tensor::{Tensor, TensorData};

/// Elements to write, row-major.
#[derive(Clone, Copy, Debug)]
pub enum NpyData<'a> {
    /// 32-bit floats, `f4`.
    F32(&'a [f32]),
    /// 16-bit integers, `i2`.
    I16(&'a [i16]),
    /// 32-bit integers, `i4`.
    I32(&'a [i32]),
    /// 64-bit integers, `i8`.
    I64(&'a [i64]),
    /// Booleans, `b1`.
    Bool(&'a [bool]),
    /// Elements of a tensor, in its type or the narrowest NumPy type that holds it.
    Tensor(&'a Tensor),
}

impl NpyData<'_> {
    /// Returns NumPy's name of the type.
    fn descr(&self) -> &'static str {
        match self {
            Self::F32(_) => "<f4",
            Self::I16(_) => "<i2",
            Self::I32(_) => "<i4",
            Self::I64(_) => "<i8",
            Self::Bool(_) => "|b1",
            Self::Tensor(tensor) => descr(tensor.element()),
        }
    }

    fn extend(&self, out: &mut Vec<u8>) {
        match self {
            Self::F32(values) => values.iter().for_each(|v| out.extend(v.to_le_bytes())),
            Self::I16(values) => values.iter().for_each(|v| out.extend(v.to_le_bytes())),
            Self::I32(values) => values.iter().for_each(|v| out.extend(v.to_le_bytes())),
            Self::I64(values) => values.iter().for_each(|v| out.extend(v.to_le_bytes())),
            Self::Bool(values) => out.extend(values.iter().map(|&v| u8::from(v))),
            Self::Tensor(tensor) => extend(out, tensor),
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::F32(values) => values.len(),
            Self::I16(values) => values.len(),
            Self::I32(values) => values.len(),
            Self::I64(values) => values.len(),
            Self::Bool(values) => values.len(),
            Self::Tensor(tensor) => tensor.data().len(),
        }
    }
}

/// An array to write.
#[derive(Clone, Copy, Debug)]
pub struct NpyArray<'a> {
    shape: &'a [usize],
    data: NpyData<'a>,
}

impl<'a> NpyArray<'a> {
    /// Creates an array of a shape; `None` if the number of elements does not match.
    pub fn new(shape: &'a [usize], data: NpyData<'a>) -> Option<Self> {
        let count = shape.iter().try_fold(1usize, |count, &size| count.checked_mul(size));
        (count == Some(data.len()) || (shape.contains(&0) && data.len() == 0)).then_some(Self { shape, data })
    }
}

impl<'a> From<&'a Tensor> for NpyArray<'a> {
    fn from(tensor: &'a Tensor) -> Self {
        Self { shape: tensor.shape(), data: NpyData::Tensor(tensor) }
    }
}

/// Returns the NumPy type that holds all values of `element`.
fn descr(element: ElementType) -> &'static str {
    match element {
        ElementType::F64 => "<f8",
        ElementType::F16 => "<f2",
        ElementType::I64 => "<i8",
        ElementType::I32 => "<i4",
        ElementType::I16 => "<i2",
        ElementType::I8 | ElementType::I4 | ElementType::I2 => "|i1",
        ElementType::U64 => "<u8",
        ElementType::U32 => "<u4",
        ElementType::U16 => "<u2",
        ElementType::U8 | ElementType::U4 | ElementType::U2 => "|u1",
        ElementType::Bool => "|b1",
        _ => "<f4",
    }
}

/// Appends the elements in the type of [`descr`].
fn extend(out: &mut Vec<u8>, tensor: &Tensor) {
    match (tensor.data(), tensor.element()) {
        (TensorData::F32(values), ElementType::F64) => {
            values.iter().for_each(|&v| out.extend(f64::from(v).to_le_bytes()));
        }
        (TensorData::F32(values), ElementType::F16) => {
            values.iter().for_each(|&v| out.extend(SmallFloat::F16.encode(v, false).to_le_bytes()));
        }
        (TensorData::F32(values), _) => NpyData::F32(values).extend(out),
        // The low bytes of an integer are the narrower integer.
        (TensorData::I64(values), element) => {
            values.iter().for_each(|v| out.extend(&v.to_le_bytes()[..bytes(element)]));
        }
        (TensorData::I32(values), element) => {
            values.iter().for_each(|v| out.extend(&v.to_le_bytes()[..bytes(element)]));
        }
        (TensorData::Bool(values), _) => NpyData::Bool(values).extend(out),
    }
}

/// Returns the whole bytes of an element.
fn bytes(element: ElementType) -> usize {
    element.bits().div_ceil(8)
}

/// Returns the bytes of an `.npy`, row-major and little-endian.
pub fn write_npy(array: NpyArray<'_>) -> Vec<u8> {
    let mut out = header(array.shape, array.data.descr());
    array.data.extend(&mut out);
    out
}

/// Returns the header of an array of `element`s, which [`elements_of`] converts later.
pub(super) fn header_of(shape: &[usize], element: ElementType) -> Vec<u8> {
    header(shape, descr(element))
}

/// Returns the bytes of a tensor's elements.
pub(super) fn elements_of(tensor: &Tensor) -> Vec<u8> {
    let mut out = Vec::new();
    extend(&mut out, tensor);
    out
}

/// Returns magic, version, length and dictionary, padded with blanks to a multiple of 64 bytes as
/// NumPy does.
fn header(shape: &[usize], descr: &str) -> Vec<u8> {
    let sizes: String = shape.iter().map(|size| format!("{size},")).collect();
    let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({sizes}), }}");
    let length = |prefix: usize| (prefix + text.len() + 1).next_multiple_of(64) - prefix;
    let mut out = MAGIC.to_vec();
    match u16::try_from(length(10)) {
        Ok(length) => {
            out.extend([1, 0]);
            out.extend(length.to_le_bytes());
        }
        Err(_) => {
            out.extend([2, 0]);
            out.extend((length(12) as u32).to_le_bytes());
        }
    }
    out.extend(text.bytes());
    out.resize((out.len() + 1).next_multiple_of(64) - 1, b' ');
    out.push(b'\n');
    out
}
