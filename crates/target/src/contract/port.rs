//! [`Port`]: an input or output of a program, and the splitting of a batch into its samples.

use std::ops::Range;

use npukit_numeric::{ElementType, Tensor, TensorData};
use serde::Serialize;

/// An input or output of a program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Port {
    /// Name in the model.
    pub name: String,
    /// Shape of one sample in the model's axis order. If the artifact does not record it, the shape
    /// of the vectors.
    pub shape: Vec<usize>,
    /// Layout of one sample in memory, if the target accepts that form too.
    pub vectors: Option<Vectors>,
    /// Element type, if the program declares one. The machine itself takes real numbers, but a host
    /// step may take indices or truth values.
    #[serde(skip)]
    pub element: Option<ElementType>,
}

/// Layout of a sample as rows of the array's width; the last lanes of a row may be padding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Vectors {
    /// Number of rows, and scalars per row.
    pub shape: [usize; 2],
    /// Whether only this layout is known, but not the model's shape and which lanes are padding.
    pub is_all: bool,
}

impl PortError {
    /// Returns whether the command line caused the error, rather than a file.
    pub fn is_usage(&self) -> bool {
        matches!(self, Self::Unknown { .. } | Self::Twice { .. } | Self::Missing { .. })
    }
}

/// Why a tensor is not a batch of samples for a port.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PortError {
    /// The shape is neither that of a sample nor of several.
    #[error(
        "input `{name}` has shape {actual:?}: a sample is {shape:?}, and several samples follow each other along the \
         first axis"
    )]
    Shape {
        /// Name of the port.
        name: String,
        /// Shape of the given tensor.
        actual: Vec<usize>,
        /// Shape of one sample.
        shape: Vec<usize>,
    },
    /// The elements have another kind than the port's elements.
    #[error("input `{name}` requires elements of type {element}: convert it")]
    Element {
        /// Name of the port.
        name: String,
        /// Element type of the port.
        element: ElementType,
    },
    /// The port's element type cannot represent an element.
    #[error("element {position} of input `{name}` is {value}, which {element} cannot represent")]
    Value {
        /// Name of the port.
        name: String,
        /// Position of the element, row-major.
        position: usize,
        /// The element, as text.
        value: String,
        /// Element type of the port.
        element: ElementType,
    },
    /// No port has this name.
    #[error("unknown input `{name}`; the program has {known}")]
    Unknown {
        /// Name of the input that the user gave.
        name: String,
        /// Names of the existing inputs.
        known: String,
    },
    /// Two files or arrays are given for the same input.
    #[error("input `{name}` is given twice")]
    Twice {
        /// Name of the port.
        name: String,
    },
    /// An input is not given.
    #[error("missing input `{name}` of shape {shape:?}: give it with `--input`, or try `--input random:1`")]
    Missing {
        /// Name of the port.
        name: String,
        /// Shape of one sample.
        shape: Vec<usize>,
    },
    /// Inputs have different numbers of samples.
    #[error("input `{name}` holds {actual} samples, the others {expected}")]
    Samples {
        /// Name of the port.
        name: String,
        /// Number of its samples.
        actual: usize,
        /// Number of samples of the first input.
        expected: usize,
    },
}

impl Port {
    /// Returns the tensor of a sample for this port, in the model's shape.
    ///
    /// # Errors
    ///
    /// [`PortError::Missing`] and [`PortError::Shape`].
    pub fn tensor<'a>(&self, sample: &'a [(String, Tensor)]) -> Result<&'a Tensor, PortError> {
        let given = sample.iter().find(|(name, _)| *name == self.name);
        let missing = || PortError::Missing { name: self.name.clone(), shape: self.shape.clone() };
        let (_, tensor) = given.ok_or_else(missing)?;
        if tensor.shape() == self.shape { Ok(tensor) } else { Err(self.misfit(tensor.shape())) }
    }

    /// Splits `tensor` into samples along its first axis.
    ///
    /// A tensor of the sample's shape is one sample. If its first axis is a multiple of the
    /// sample's, it is several. The same holds for rows of vectors.
    ///
    /// # Errors
    ///
    /// [`PortError::Shape`].
    pub fn split(&self, tensor: &Tensor) -> Result<Vec<Tensor>, PortError> {
        let misfit = || self.misfit(tensor.shape());
        let sample = self.sample_shape(tensor.shape()).ok_or_else(misfit)?;
        if tensor.shape() == sample {
            return Ok(vec![tensor.clone()]);
        }
        let (all, size) = (tensor.data().len(), sample.iter().product::<usize>());
        if size == 0 || all == 0 {
            return Err(misfit());
        }
        let part = |start| {
            let part = Tensor::new(sample.to_vec(), part(tensor.data(), start..start + size)).ok()?;
            part.with_element(tensor.element()).ok()
        };
        (0..all).step_by(size).map(|start| part(start).ok_or_else(misfit)).collect()
    }

    /// Returns whether a tensor of `shape` is a sample, or several along the first axis.
    pub fn takes(&self, shape: &[usize]) -> bool {
        self.sample_shape(shape).is_some()
    }

    /// Returns the number of rows and lanes, if a sample has no other known form.
    pub fn only_vectors(&self) -> Option<[usize; 2]> {
        self.vectors.filter(|vectors| vectors.is_all).map(|vectors| vectors.shape)
    }

    /// Returns the port without its vector layout.
    #[must_use]
    pub fn without_vectors(&self) -> Self {
        Self { vectors: None, ..self.clone() }
    }

    fn sample_shape(&self, actual: &[usize]) -> Option<&[usize]> {
        let vectors = self.vectors.as_ref().map(|vectors| &vectors.shape[..]);
        std::iter::once(&self.shape[..]).chain(vectors).find(|sample| is_batch(actual, sample))
    }

    fn misfit(&self, actual: &[usize]) -> PortError {
        PortError::Shape { name: self.name.clone(), actual: actual.to_vec(), shape: self.shape.clone() }
    }
}

/// Returns the elements in a range; empty if the range exceeds the end.
fn part(data: &TensorData, range: Range<usize>) -> TensorData {
    match data {
        TensorData::F32(values) => TensorData::F32(values.get(range).unwrap_or_default().to_vec()),
        TensorData::I64(values) => TensorData::I64(values.get(range).unwrap_or_default().to_vec()),
        TensorData::I32(values) => TensorData::I32(values.get(range).unwrap_or_default().to_vec()),
        TensorData::Bool(values) => TensorData::Bool(values.get(range).unwrap_or_default().to_vec()),
    }
}

/// Returns whether `actual` is `sample`, `sample` with a longer first axis, or `sample` with one
/// more axis in front.
fn is_batch(actual: &[usize], sample: &[usize]) -> bool {
    if actual == sample || actual.get(1..) == Some(sample) {
        return true;
    }
    match (actual.split_first(), sample.split_first()) {
        (Some((n, rest)), Some((m, tail))) => rest == tail && *m > 0 && n % m == 0,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn port() -> Port {
        Port {
            name: "x".into(),
            shape: vec![1, 2, 3],
            vectors: Some(Vectors { shape: [2, 4], is_all: false }),
            element: None,
        }
    }

    fn zeros(shape: &[usize]) -> Tensor {
        Tensor::from_f32(shape.to_vec(), vec![0.0; shape.iter().product()]).unwrap()
    }

    #[test]
    fn a_batch_is_cut_along_the_first_axis() {
        for (shape, samples) in [
            (&[1, 2, 3][..], 1),
            (&[5, 2, 3], 5),
            (&[4, 1, 2, 3], 4),
            (&[2, 4], 1),
            (&[6, 4], 3),
            (&[7, 2, 4], 7),
        ] {
            assert_eq!(port().split(&zeros(shape)).unwrap().len(), samples, "{shape:?}");
        }
    }

    #[test]
    fn a_sample_has_a_tensor_for_the_port() {
        let sample = |name: &str, shape: &[usize]| vec![(name.to_owned(), zeros(shape))];
        assert_eq!(port().tensor(&sample("x", &[1, 2, 3])).unwrap().shape(), [1, 2, 3]);
        assert!(matches!(port().tensor(&sample("x", &[2, 3])), Err(PortError::Shape { .. })));
        assert!(matches!(port().tensor(&sample("y", &[1, 2, 3])), Err(PortError::Missing { .. })));
    }

    #[test]
    fn samples_keep_their_type_and_may_be_scalars_or_empty() {
        let port =
            |shape: &[usize]| Port { name: "x".into(), shape: shape.to_vec(), vectors: None, element: None };
        let integers = |shape: &[usize], values: &[i64]| {
            Tensor::new(shape.to_vec(), TensorData::I64(values.to_vec())).unwrap()
        };
        let (scalar, both) = (integers(&[], &[3]), integers(&[2], &[3, 4]));
        assert_eq!(port(&[]).split(&scalar).unwrap(), std::slice::from_ref(&scalar));
        assert_eq!(port(&[]).split(&both).unwrap(), [scalar, integers(&[], &[4])]);
        let none = integers(&[2, 0], &[]);
        assert_eq!(port(&[2, 0]).split(&none).unwrap(), [none]);
    }

    #[test]
    fn other_shapes_are_refused() {
        for shape in [&[2, 3][..], &[3, 4], &[1, 3, 2], &[0, 2, 3], &[]] {
            assert!(matches!(port().split(&zeros(shape)), Err(PortError::Shape { .. })), "{shape:?}");
        }
    }
}
