//! NumPy files: one array (`.npy`) or a zip of several (`.npz`), to and from [`Tensor`]s.
//!
//! [`read_npy`] and [`read_npz`] accept any bytes. An error is an [`NpyError`] with the array's
//! name and the offset. Memory is bounded by the number of bytes present, unpacked up to a limit.
//! The header is parsed here, since the `npyz` crate does not promise that.
//!
//! Elements keep their type: `b1`, `i1` to `i8`, `u1` to `u8`, `f2` to `f8` (see [`ElementType`]
//! for the storage of `f8` and `u8`). Both byte orders and both orders of axes are supported. Types
//! that NumPy does not have are written as the narrowest type with all their values: `bfloat16` and
//! floats of 8 bits and less as `f4`, integers of 4 and 2 bits as `i1` and `u1`. The names that the
//! `ml_dtypes` package writes (`V1`, `V2`) are ambiguous, and are not supported.

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

/// An error in an array file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{name}, byte {offset}: {kind}")]
pub struct NpyError {
    /// Name of the array or of the file.
    pub name: String,
    /// Offset in the `.npy` (unpacked if it is part of an `.npz`), or in the `.npz` itself.
    pub offset: usize,
    /// Kind of error.
    pub kind: NpyErrorKind,
}

codes!(NpyError: Code {
    name: "invalid-array",
    meaning: "a file is not a supported NumPy array or archive of arrays",
});

/// Kind of error in an array file.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NpyErrorKind {
    /// Not a NumPy file.
    #[error("not a NumPy file: it must begin with \\x93NUMPY")]
    Magic,
    /// An unsupported version of the format.
    #[error("unsupported format version {major}.{minor}; supported are 1.0, 2.0 and 3.0")]
    Version {
        /// Major version.
        major: u8,
        /// Minor version.
        minor: u8,
    },
    /// The bytes end inside the header.
    #[error("the header needs {needed} bytes, but only {present} are present: the file is truncated")]
    HeaderCut {
        /// Number of bytes needed.
        needed: usize,
        /// Number of bytes present.
        present: usize,
    },
    /// The header is not the required Python dictionary.
    #[error("the header is malformed: expected {expected}")]
    Header {
        /// Expected content.
        expected: &'static str,
    },
    /// An unsupported element type.
    #[error(
        "element type {descr:?} is not supported; supported are b1, i1 to i8, u1 to u8 and f2 to f8. \
         Convert with numpy.ndarray.astype, bfloat16 and narrower floats to float32"
    )]
    Descr {
        /// Type as in the header.
        descr: String,
    },
    /// The number of values does not match the shape.
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
        /// Value of the integer.
        value: u64,
    },
    /// An error in the zip around the arrays.
    #[error("the zip archive is broken: {reason}")]
    Zip {
        /// Message of the unpacker.
        reason: String,
    },
    /// An entry of the zip is not an array.
    #[error("an .npz holds .npy files only")]
    NotAnArray,
    /// The archive unpacks to far more bytes than it has.
    #[error("unpacks to more than {limit} bytes, from an archive of {packed} bytes; store it uncompressed")]
    Unpacked {
        /// Maximum number of unpacked bytes of all arrays.
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

/// Reads an array. `name` is used in errors.
///
/// # Errors
///
/// [`NpyError`] with the offset of the error: wrong magic or version, unsupported header or type,
/// or a number of values that does not match the shape.
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
