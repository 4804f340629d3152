//! Tensors: a shape and its elements in row-major order, all of one type.

use thiserror::Error;

use crate::element::{ElementType, Storage};

/// Elements of a tensor, row-major, by storage type.
#[derive(Clone, Debug, PartialEq)]
pub enum TensorData {
    /// 32-bit floats.
    F32(Vec<f32>),
    /// 64-bit integers.
    I64(Vec<i64>),
    /// 32-bit integers.
    I32(Vec<i32>),
    /// Booleans.
    Bool(Vec<bool>),
}

impl TensorData {
    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        match self {
            Self::F32(values) => values.len(),
            Self::I64(values) => values.len(),
            Self::I32(values) => values.len(),
            Self::Bool(values) => values.len(),
        }
    }

    /// Whether the list is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the storage type of the elements.
    pub fn storage(&self) -> Storage {
        match self {
            Self::F32(_) => Storage::F32,
            Self::I64(_) => Storage::I64,
            Self::I32(_) => Storage::I32,
            Self::Bool(_) => Storage::Bool,
        }
    }

    /// Creates an empty list with the given storage.
    pub fn empty(storage: Storage) -> Self {
        match storage {
            Storage::F32 => Self::F32(Vec::new()),
            Storage::I64 => Self::I64(Vec::new()),
            Storage::I32 => Self::I32(Vec::new()),
            Storage::Bool => Self::Bool(Vec::new()),
        }
    }
}

/// Reason why elements cannot have a type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ElementError {
    /// The type has another storage.
    #[error("{element} needs {:?} storage, but the elements are stored as {found:?}", element.storage())]
    Storage {
        /// Requested type.
        element: ElementType,
        /// Storage of the elements.
        found: Storage,
    },
    /// An unsigned 64-bit integer of 2^63 or more.
    #[error("element {position} is {value} as uint64; the largest supported value is 9223372036854775807")]
    TooBig {
        /// Position of the element, row-major.
        position: usize,
        /// Value of the element.
        value: u64,
    },
}

/// Whether `shape` has exactly `count` elements; false if the product overflows.
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
    element: ElementType,
    data: TensorData,
}

impl Tensor {
    /// Creates a tensor of 32-bit floats.
    ///
    /// # Errors
    ///
    /// Returns `data` if its length is not the product of `shape`.
    pub fn from_f32(shape: Vec<usize>, data: Vec<f32>) -> Result<Self, Vec<f32>> {
        if !holds(&shape, data.len()) {
            return Err(data);
        }
        Ok(Self { shape, element: ElementType::F32, data: TensorData::F32(data) })
    }

    /// Creates a tensor of the type that has every value of the storage; [`Tensor::with_element`]
    /// narrows it.
    ///
    /// # Errors
    ///
    /// Returns `data` if its length is not the product of `shape`.
    pub fn new(shape: Vec<usize>, data: TensorData) -> Result<Self, TensorData> {
        if !holds(&shape, data.len()) {
            return Err(data);
        }
        Ok(Self { shape, element: data.storage().element(), data })
    }

    /// Converts the tensor to elements of type `element`, which must have the same storage. Floats
    /// are rounded to nearest (beyond the type's range to infinity or, if it has none, NaN);
    /// integers lose upper bits.
    ///
    /// # Errors
    ///
    /// [`ElementError::Storage`] if `element` has another storage than the data;
    /// [`ElementError::TooBig`] for an unsigned 64-bit integer of 2^63 or more.
    pub fn with_element(mut self, element: ElementType) -> Result<Self, ElementError> {
        match (&mut self.data, element.integer_range()) {
            (data, _) if data.storage() != element.storage() => {
                return Err(ElementError::Storage { element, found: data.storage() });
            }
            _ if self.element == element => {}
            (TensorData::F32(values), _) => round(values, element),
            (TensorData::I32(values), Some((least, _))) => wrap_i32(values, element.bits(), least < 0),
            (TensorData::I64(values), Some((0, _))) => wrap_u64(values, element.bits())?,
            _ => {}
        }
        self.element = element;
        Ok(self)
    }

    /// Returns the type of the elements.
    pub fn element(&self) -> ElementType {
        self.element
    }

    /// Returns the shape, outermost axis first; empty for a scalar.
    pub fn shape(&self) -> &[usize] {
        &self.shape
    }

    /// Returns the elements, row-major.
    pub fn data(&self) -> &TensorData {
        &self.data
    }

    /// Returns the elements without their shape.
    pub fn into_data(self) -> TensorData {
        self.data
    }

    /// Returns the elements if they are floats of any width.
    pub fn as_f32(&self) -> Option<&[f32]> {
        match &self.data {
            TensorData::F32(values) => Some(values),
            _ => None,
        }
    }

    /// Returns the elements without their shape if they are floats of any width.
    ///
    /// # Errors
    ///
    /// The tensor itself, if its elements are not floats.
    pub fn into_f32(self) -> Result<Vec<f32>, Self> {
        match self.data {
            TensorData::F32(values) => Ok(values),
            data => Err(Self { data, ..self }),
        }
    }

    /// Returns the elements as real numbers. Exact, except that 64-bit integers beyond 2^53 are
    /// rounded to nearest.
    pub fn reals(&self) -> Vec<f64> {
        match &self.data {
            TensorData::F32(values) => values.iter().map(|&value| value.into()).collect(),
            TensorData::I64(values) => values.iter().map(|&value| value as f64).collect(),
            TensorData::I32(values) => values.iter().map(|&value| value.into()).collect(),
            TensorData::Bool(values) => values.iter().map(|&value| u8::from(value).into()).collect(),
        }
    }

    /// Whether shape, type and elements are the same, bit for bit. Unlike `==`, all NaN are the
    /// same, and the two zeros differ.
    pub fn is_same(&self, other: &Self) -> bool {
        let same = |a: &f32, b: &f32| a.to_bits() == b.to_bits() || a.is_nan() && b.is_nan();
        let is_same_data = match (&self.data, &other.data) {
            (TensorData::F32(a), TensorData::F32(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
            }
            (a, b) => a == b,
        };
        self.shape == other.shape && self.element == other.element && is_same_data
    }

    /// Returns the elements if they are stored as 64-bit integers.
    pub fn as_i64(&self) -> Option<&[i64]> {
        match &self.data {
            TensorData::I64(values) => Some(values),
            _ => None,
        }
    }
}

/// Rounds to values of a float type.
fn round(values: &mut [f32], element: ElementType) {
    if let Some(format) = element.small_float() {
        values.iter_mut().for_each(|value| *value = format.round(*value, false));
    }
}

/// Keeps the lower `bits`, with or without a sign.
fn wrap_i32(values: &mut [i32], bits: usize, signed: bool) {
    let shift = 32 - bits as u32;
    let wrap = |value: i32| match signed {
        true => value << shift >> shift,
        false => ((value as u32) << shift >> shift) as i32,
    };
    values.iter_mut().for_each(|value| *value = wrap(*value));
}

/// Keeps the lower `bits`, without a sign; the highest of 64 must not be set.
fn wrap_u64(values: &mut [i64], bits: usize) -> Result<(), ElementError> {
    let shift = 64 - bits as u32;
    for (position, value) in values.iter_mut().enumerate() {
        *value = ((*value as u64) << shift >> shift) as i64;
        if *value < 0 {
            return Err(ElementError::TooBig { position, value: *value as u64 });
        }
    }
    Ok(())
}
