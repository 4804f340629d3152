//! [`Stack`]: an output, sample after sample.

use npukit_numeric::{Tensor, TensorData};
use npukit_target::Port;

use crate::error::Error;

/// An output, sample after sample.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Stack {
    pub name: String,
    /// Of one sample.
    pub shape: Vec<usize>,
    /// By sample.
    pub samples: Vec<Tensor>,
    /// The machine's integers, where there is a machine.
    pub raw: Vec<Vec<i32>>,
    /// Whether samples are rows of vectors, of which nobody knows how many lanes are the model's.
    pub is_rows: bool,
}

impl Stack {
    /// That of an output, without samples.
    pub(crate) fn of(port: Port) -> Self {
        let is_rows = port.only_vectors().is_some();
        Self { name: port.name, shape: port.shape, is_rows, ..Self::default() }
    }

    pub(crate) fn stacked_shape(&self) -> Vec<usize> {
        let mut shape = self.shape.clone();
        match (shape.first_mut(), self.samples.len()) {
            (_, 1) => {}
            (Some(first), count) => *first *= count,
            (None, count) => shape.push(count),
        }
        shape
    }

    /// All samples in one tensor.
    pub(crate) fn stacked(&self) -> Result<Tensor, Error> {
        let shape = self.stacked_shape();
        let tensor = Tensor::new(shape.clone(), joined(&self.samples));
        let tensor = tensor.map_err(|data| self.misfit(data.len(), &shape))?;
        // The samples are of the type already, so that nothing can be refused.
        let element = self.samples.first().map_or(tensor.element(), Tensor::element);
        tensor.with_element(element).map_err(|error| self.failed(error.to_string()))
    }

    /// All samples as the machine's integers.
    pub(crate) fn stacked_integers(&self) -> Result<Tensor, Error> {
        let (shape, raw) = (self.stacked_shape(), self.raw.concat());
        if raw.is_empty() && !shape.contains(&0) {
            let told = "the host makes it after the last segment, from which there are no integers; leave `--raw` out";
            return Err(self.failed(told.to_owned()));
        }
        Tensor::new(shape.clone(), TensorData::I32(raw)).map_err(|data| self.misfit(data.len(), &shape))
    }

    fn misfit(&self, values: usize, shape: &[usize]) -> Error {
        self.failed(format!("{values} values do not have shape {shape:?}"))
    }

    fn failed(&self, reason: String) -> Error {
        Error::Output { name: self.name.clone(), reason }
    }
}

/// The elements of tensors of one type, one tensor after the other.
fn joined(samples: &[Tensor]) -> TensorData {
    let mut samples = samples.iter().map(Tensor::data);
    let mut all = samples.next().cloned().unwrap_or(TensorData::F32(Vec::new()));
    for data in samples {
        match (&mut all, data) {
            (TensorData::F32(all), TensorData::F32(more)) => all.extend(more),
            (TensorData::I64(all), TensorData::I64(more)) => all.extend(more),
            (TensorData::I32(all), TensorData::I32(more)) => all.extend(more),
            (TensorData::Bool(all), TensorData::Bool(more)) => all.extend(more),
            _ => {}
        }
    }
    all
}
