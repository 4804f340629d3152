//! NumPy's files: one array (`.npy`) or a zip of several (`.npz`), to and from [`Tensor`]s.
//!
//! [`read_npy`] and [`read_npz`] take any bytes: what is wrong comes back as an [`NpyError`] with
//! the array's name and the offset, and no more is allocated than the bytes present, unpacked up
//! to a limit, call for. The header is parsed here rather than by the `npyz` crate, which makes no
//! such promise.
//!
//! Elements keep their type: `b1`, `i1` to `i8`, `u1` to `u8`, `f2` to `f8` (see [`ElementType`] for
//! what `f8` and `u8` are held as). Both byte orders and both orders of axes are read. Types that
//! NumPy does not have are written as the narrowest that has all their values: `bfloat16` and
//! floats of 8 bits and less as `f4`, integers of 4 and 2 bits as `i1` and `u1`. The names that the
//! `ml_dtypes` package gives them in a file (`V1`, `V2`) do not say which they are, and are not read.

mod archive;
mod descr;
mod elements;
mod header;
mod stream;
mod write;

use npukit_base::{Code, codes};
use thiserror::Error;

#[cfg(doc)]
use crate::element::ElementType;
use crate::tensor::Tensor;
use header::Header;

/// An error and its offset.
type At<T> = Result<T, (usize, NpyErrorKind)>;

pub use archive::{member_names, read_npz, write_npz};
pub use stream::NpzWriter;
pub use write::{NpyArray, NpyData, write_npy};

/// What is wrong with an array, and where.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{name}, byte {offset}: {kind}")]
pub struct NpyError {
    /// The array, or the file.
    pub name: String,
    /// Offset in the `.npy` (unpacked when it is part of an `.npz`), or in the `.npz` itself.
    pub offset: usize,
    /// What is wrong.
    pub kind: NpyErrorKind,
}

codes!(NpyError: Code {
    name: "invalid-array",
    meaning: "a file is no NumPy array, or no archive of arrays, that is read",
});

/// What is wrong with an array.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NpyErrorKind {
    /// Not a NumPy file.
    #[error("no NumPy file: it must begin with \\x93NUMPY")]
    Magic,
    /// A version of the format from the future.
    #[error("version {major}.{minor} of the format is not known; 1.0, 2.0 and 3.0 are")]
    Version {
        /// First number.
        major: u8,
        /// Second number.
        minor: u8,
    },
    /// The bytes end inside the header.
    #[error("the header needs {needed} bytes, {present} are there: the file is cut short")]
    HeaderCut {
        /// Bytes needed.
        needed: usize,
        /// Bytes present.
        present: usize,
    },
    /// The header is not the Python dictionary it should be.
    #[error("the header is malformed: expected {expected}")]
    Header {
        /// What should stand there.
        expected: &'static str,
    },
    /// An element type that is not read.
    #[error(
        "element type {descr:?} is not read; legal are b1, i1 to i8, u1 to u8 and f2 to f8. \
         Convert with numpy.ndarray.astype, bfloat16 and narrower floats to float32"
    )]
    Descr {
        /// The type as the header writes it.
        descr: String,
    },
    /// The values are not as many as the shape says.
    #[error("shape {shape:?} of {element_bytes}-byte elements does not fit the {present} bytes that follow")]
    Values {
        /// Shape in the header.
        shape: Vec<usize>,
        /// Bytes of an element.
        element_bytes: usize,
        /// Bytes after the header.
        present: usize,
    },
    /// An unsigned integer above the largest signed one.
    #[error("{value} does not fit a 64-bit signed integer")]
    TooBig {
        /// The value.
        value: u64,
    },
    /// Something wrong with the zip around the arrays.
    #[error("the zip archive is broken: {reason}")]
    Zip {
        /// As the unpacker puts it.
        reason: String,
    },
    /// Something in the zip that is not an array.
    #[error("an .npz holds .npy files only")]
    NotAnArray,
    /// Far more unpacked than packed.
    #[error("unpacks to more than {limit} bytes, from an archive of {packed}; store it unpacked")]
    Unpacked {
        /// Most bytes that all arrays may unpack to.
        limit: u64,
        /// Bytes of the archive.
        packed: usize,
    },
}

impl NpyErrorKind {
    fn at(self, name: &str, offset: usize) -> NpyError {
        NpyError { name: name.to_owned(), offset, kind: self }
    }
}

/// Reads an array. `name` is for errors.
///
/// # Errors
///
/// [`NpyError`] with the byte at which the array is not one: wrong magic or version, a header or type that is
/// not read, values that are fewer or more than the shape has.
pub fn read_npy(name: &str, bytes: &[u8]) -> Result<Tensor, NpyError> {
    let (header, values) = Header::parse(bytes).map_err(|(offset, kind)| kind.at(name, offset))?;
    let start = bytes.len() - values.len();
    let misfit = || NpyErrorKind::Values {
        shape: header.shape.clone(),
        element_bytes: header.element.bytes(),
        present: values.len(),
    };
    if header.value_bytes() != Some(values.len()) {
        return Err(misfit().at(name, start));
    }
    let data = header.decode(values).map_err(|(offset, kind)| kind.at(name, start + offset))?;
    let tensor = Tensor::new(header.shape.clone(), data).ok();
    let typed = tensor.and_then(|tensor| tensor.with_element(header.element.element).ok());
    typed.ok_or_else(|| misfit().at(name, start))
}
