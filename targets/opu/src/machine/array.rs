//! Contents of a buffer: [`Array`], or nothing ([`BufferContent`]).

use crate::config::datatype::DataType;
use crate::isa::fault::{Buffer, FaultKind, Invalid};

/// Raw values, in the same number of bytes as in memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Elements {
    /// Elements of one byte.
    I8(Vec<i8>),
    /// Elements of two bytes.
    I16(Vec<i16>),
    /// Elements of four bytes.
    I32(Vec<i32>),
}

/// Raw values of a type, row-major.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array<E = Elements> {
    /// Type of the elements.
    pub data_type: DataType,
    /// Sizes of the axes.
    pub shape: Vec<usize>,
    /// Raw values of the elements.
    pub elements: E,
}

impl Elements {
    /// Returns `len` elements of `data_type`, all 0.
    pub fn zeros(data_type: DataType, len: usize) -> Self {
        match data_type.size_bytes() {
            1 => Self::I8(vec![0; len]),
            2 => Self::I16(vec![0; len]),
            _ => Self::I32(vec![0; len]),
        }
    }

    /// Returns the number of elements.
    pub fn len(&self) -> usize {
        match self {
            Self::I8(values) => values.len(),
            Self::I16(values) => values.len(),
            Self::I32(values) => values.len(),
        }
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the raw value at `index`, which must be less than the length.
    pub fn get(&self, index: usize) -> i32 {
        match self {
            Self::I8(values) => values[index].into(),
            Self::I16(values) => values[index].into(),
            Self::I32(values) => values[index],
        }
    }

    /// Sets the raw value at `index`, which must be less than the length.
    pub fn set(&mut self, index: usize, raw: i32) {
        match self {
            Self::I8(values) => values[index] = raw as i8,
            Self::I16(values) => values[index] = raw as i16,
            Self::I32(values) => values[index] = raw,
        }
    }

    /// Returns the bytes of the elements, as in memory.
    pub fn to_bytes(&self) -> Vec<u8> {
        match self {
            Self::I8(values) => values.iter().map(|&value| value.cast_unsigned()).collect(),
            Self::I16(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
            Self::I32(values) => values.iter().flat_map(|value| value.to_le_bytes()).collect(),
        }
    }
}

impl Elements {
    /// Reads raw values from the bytes of whole elements.
    ///
    /// # Errors
    ///
    /// Position and bits of the first element that is not a finite number.
    pub fn from_bytes(data_type: DataType, bytes: &[u8]) -> Result<Self, (usize, u32)> {
        let size = data_type.size_bytes() as usize;
        let mut elements = Self::zeros(data_type, bytes.len() / size);
        match (&mut elements, data_type) {
            // The type uses all bits of the container, so values need no sign extension and no
            // check.
            (Self::I8(values), DataType::INT8) => {
                values.iter_mut().zip(bytes).for_each(|(value, &byte)| *value = byte.cast_signed());
            }
            _ => {
                for (index, bytes) in bytes.chunks_exact(size).enumerate() {
                    let mut word = [0; 4];
                    word[..size].copy_from_slice(bytes);
                    let bits = u32::from_le_bytes(word);
                    elements.set(index, data_type.raw(bits).ok_or((index, bits))?);
                }
            }
        }
        Ok(elements)
    }
}

impl Array {
    /// Reads raw values from the bytes of whole elements.
    ///
    /// # Errors
    ///
    /// Position and bits of the first element that is not a finite number.
    pub fn from_bytes(data_type: DataType, shape: Vec<usize>, bytes: &[u8]) -> Result<Self, (usize, u32)> {
        Ok(Self { data_type, shape, elements: Elements::from_bytes(data_type, bytes)? })
    }
}

/// Contents of a buffer, or the reason why it is empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BufferContent<E = Elements> {
    buffer: Buffer,
    content: Result<Array<E>, Invalid>,
}

impl<E> BufferContent<E> {
    /// Returns a buffer after a reset.
    pub const fn new(buffer: Buffer) -> Self {
        Self { buffer, content: Err(Invalid::Never) }
    }

    /// Returns the contents.
    ///
    /// # Errors
    ///
    /// [`FaultKind::BufferInvalid`], with the reason, if the buffer holds nothing valid.
    pub const fn get(&self) -> Result<&Array<E>, FaultKind> {
        match &self.content {
            Ok(array) => Ok(array),
            Err(invalid) => Err(FaultKind::BufferInvalid { buffer: self.buffer, invalid: *invalid }),
        }
    }

    /// Replaces the contents.
    pub fn fill(&mut self, array: Array<E>) {
        self.content = Ok(array);
    }

    /// Takes the contents out, to reuse their memory.
    pub fn take(&mut self) -> Option<Array<E>> {
        std::mem::replace(&mut self.content, Err(Invalid::Never)).ok()
    }

    /// Empties the buffer because the instruction `mnemonic` changes its shape.
    pub fn invalidate(&mut self, mnemonic: &'static str) {
        if self.content.is_ok() {
            self.content = Err(Invalid::By(mnemonic));
        }
    }
}
