//! Tensors: a shape and its elements in row-major order.

/// The element type of a tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ElementType {
    /// 32-bit float.
    F32,
    /// 64-bit integer.
    I64,
    /// 32-bit integer.
    I32,
    /// Truth value.
    Bool,
}

/// The elements of a tensor, row-major.
#[derive(Clone, Debug, PartialEq)]
pub enum TensorData {
    /// 32-bit floats.
    F32(Vec<f32>),
    /// 64-bit integers.
    I64(Vec<i64>),
    /// 32-bit integers.
    I32(Vec<i32>),
    /// Truth values.
    Bool(Vec<bool>),
}

impl TensorData {
    /// Number of elements.
    pub fn len(&self) -> usize {
        match self {
            Self::F32(values) => values.len(),
            Self::I64(values) => values.len(),
            Self::I32(values) => values.len(),
            Self::Bool(values) => values.len(),
        }
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Whether `shape` has exactly `count` elements; a product that overflows has more than any count.
fn holds(shape: &[usize], count: usize) -> bool {
    if shape.contains(&0) {
        return count == 0;
    }
    shape.iter().try_fold(1usize, |product, &size| product.checked_mul(size)) == Some(count)
}

/// A dense tensor in row-major order.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    shape: Vec<usize>,
    data: TensorData,
}

impl Tensor {
    /// A float tensor. Errors: gives back `data` when its length is not the product of `shape`.
    pub fn from_f32(shape: Vec<usize>, data: Vec<f32>) -> Result<Self, Vec<f32>> {
        if holds(&shape, data.len()) { Ok(Self { shape, data: TensorData::F32(data) }) } else { Err(data) }
    }

    /// A tensor of any element type. Errors: gives back `data` when its length is not the product of `shape`.
    pub fn new(shape: Vec<usize>, data: TensorData) -> Result<Self, TensorData> {
        if holds(&shape, data.len()) { Ok(Self { shape, data }) } else { Err(data) }
    }

    /// The type of the elements.
    pub fn element(&self) -> ElementType {
        match &self.data {
            TensorData::F32(_) => ElementType::F32,
            TensorData::I64(_) => ElementType::I64,
            TensorData::I32(_) => ElementType::I32,
            TensorData::Bool(_) => ElementType::Bool,
        }
    }

    /// The shape, outermost axis first; empty for a scalar.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// The elements, row-major.
    pub fn data(&self) -> &TensorData {
        &self.data
    }

    /// The elements when they are floats.
    pub fn as_f32(&self) -> Option<&[f32]> {
        match &self.data {
            TensorData::F32(values) => Some(values),
            _ => None,
        }
    }

    /// The elements when they are 64-bit integers.
    pub fn as_i64(&self) -> Option<&[i64]> {
        match &self.data {
            TensorData::I64(values) => Some(values),
            _ => None,
        }
    }
}
