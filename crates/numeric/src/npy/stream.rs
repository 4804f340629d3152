//! [`NpzWriter`]: writes an `.npz` array by array, as the elements arrive.

use std::io::{self, Write};

use zip::write::{SimpleFileOptions, StreamWriter};
use zip::{CompressionMethod, ZipWriter};

use crate::element::ElementType;
use crate::npy::write::{elements_of, header_of};
use crate::tensor::Tensor;

/// Size in bytes from which an entry uses the 64-bit format.
const LARGE: u128 = 1 << 31;

/// An `.npz` written to a sink that supports neither reading nor seeking.
///
/// ```
/// # use npukit_numeric::{ElementType, Tensor};
/// # use npukit_numeric::npy::{NpzWriter, read_npz};
/// let mut bytes = Vec::new();
/// let mut archive = NpzWriter::new(&mut bytes);
/// archive.begin("y", &[2, 3], ElementType::F32)?;
/// let sample = Tensor::from_f32(vec![1, 3], vec![1.0, 2.0, 3.0]).unwrap();
/// archive.append(&sample)?;
/// archive.append(&sample)?;
/// archive.finish()?;
/// assert_eq!(read_npz("y.npz", &bytes).unwrap()[0].1.shape(), [2, 3]);
/// # Ok::<(), std::io::Error>(())
/// ```
pub struct NpzWriter<W: Write> {
    archive: ZipWriter<StreamWriter<W>>,
    /// Type of the open array's elements, and the number of missing elements.
    open: Option<(ElementType, usize)>,
}

impl<W: Write> NpzWriter<W> {
    /// Creates an archive without arrays.
    pub fn new(sink: W) -> Self {
        Self { archive: ZipWriter::new_stream(sink), open: None }
    }

    /// Begins an array of a shape; `name` has no extension. The previous array must be complete.
    ///
    /// # Errors
    ///
    /// Errors of the sink; [`io::ErrorKind::InvalidInput`] for a duplicate name, a shape with too
    /// many elements, or an incomplete previous array.
    pub fn begin(&mut self, name: &str, shape: &[usize], element: ElementType) -> io::Result<()> {
        self.check_whole()?;
        let invalid =
            || io::Error::new(io::ErrorKind::InvalidInput, format!("{name}: {shape:?} is not a valid shape"));
        let elements = shape.iter().try_fold(1usize, |product, &size| product.checked_mul(size));
        let elements = elements.ok_or_else(invalid)?;
        let bytes = elements as u128 * element.bits().div_ceil(8) as u128;
        let options = SimpleFileOptions::default()
            .compression_method(CompressionMethod::Stored)
            .large_file(bytes >= LARGE);
        self.archive.start_file(format!("{name}.npy"), options)?;
        self.archive.write_all(&header_of(shape, element))?;
        self.open = Some((element, elements));
        Ok(())
    }

    /// Appends the next elements of the array, row-major.
    ///
    /// # Errors
    ///
    /// Errors of the sink; [`io::ErrorKind::InvalidInput`] for elements of another type, or more
    /// than the shape has.
    pub fn append(&mut self, tensor: &Tensor) -> io::Result<()> {
        let given = tensor.data().len();
        let left = self.open.filter(|(element, _)| *element == tensor.element());
        let left = left.and_then(|(element, left)| Some((element, left.checked_sub(given)?)));
        let misfit = || {
            let message = format!("{given} elements of {} do not continue the array", tensor.element());
            io::Error::new(io::ErrorKind::InvalidInput, message)
        };
        self.open = Some(left.ok_or_else(misfit)?);
        self.archive.write_all(&elements_of(tensor))
    }

    /// Ends the archive, which is invalid before.
    ///
    /// # Errors
    ///
    /// Errors of the sink; [`io::ErrorKind::InvalidInput`] if the last array is incomplete.
    pub fn finish(self) -> io::Result<()> {
        self.check_whole()?;
        self.archive.finish()?;
        Ok(())
    }

    fn check_whole(&self) -> io::Result<()> {
        match self.open {
            Some((_, left)) if left > 0 => {
                let message = format!("{left} elements of the array are missing");
                Err(io::Error::new(io::ErrorKind::InvalidInput, message))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::npy::read_npz;
    use crate::tensor::TensorData;

    #[test]
    fn arrays_of_every_type_come_back() {
        let tensors = [
            Tensor::from_f32(vec![2, 1], vec![1.5, f32::NAN]).unwrap(),
            Tensor::new(vec![2], TensorData::I64(vec![3, -4])).unwrap(),
            Tensor::new(vec![1, 2], TensorData::Bool(vec![true, false])).unwrap(),
            Tensor::from_f32(Vec::new(), vec![7.0]).unwrap(),
            Tensor::from_f32(vec![0, 3], Vec::new()).unwrap(),
        ];
        let mut bytes = Vec::new();
        let mut archive = NpzWriter::new(&mut bytes);
        for (i, tensor) in tensors.iter().enumerate() {
            archive.begin(&format!("a/{i}"), tensor.shape(), tensor.element()).unwrap();
            archive.append(tensor).unwrap();
        }
        archive.finish().unwrap();
        let read = read_npz("a.npz", &bytes).unwrap();
        assert_eq!(read.len(), tensors.len());
        for (i, ((name, read), tensor)) in read.iter().zip(&tensors).enumerate() {
            assert_eq!(
                (name, read.shape(), read.element()),
                (&format!("a/{i}"), tensor.shape(), tensor.element())
            );
            let bits = |tensor: &Tensor| tensor.reals().iter().map(|x| x.to_bits()).collect::<Vec<_>>();
            assert_eq!(bits(read), bits(tensor));
        }
    }

    #[test]
    fn an_array_is_whole_or_refused() {
        let sample = Tensor::from_f32(vec![2], vec![1.0, 2.0]).unwrap();
        let mut archive = NpzWriter::new(Vec::new());
        assert!(archive.append(&sample).is_err(), "no array has begun");
        archive.begin("x", &[3], ElementType::F32).unwrap();
        archive.append(&sample).unwrap();
        assert!(archive.append(&sample).is_err(), "four of three");
        assert!(archive.begin("y", &[3], ElementType::F32).is_err());
        assert!(archive.finish().is_err());
        let mut archive = NpzWriter::new(Vec::new());
        archive.begin("x", &[2], ElementType::I64).unwrap();
        assert!(archive.append(&sample).is_err(), "another type");
        assert!(archive.begin("huge", &[usize::MAX, 2], ElementType::F32).is_err());
    }
}
