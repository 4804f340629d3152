//! [`Stack`]: the values of an output for all samples.

use npukit_numeric::{Tensor, TensorData};
use npukit_target::Port;

use crate::error::Error;

/// Values of an output for all samples.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Stack {
    pub name: String,
    /// Shape of one sample.
    pub shape: Vec<usize>,
    /// Values by sample.
    pub samples: Vec<Tensor>,
    /// The machine's integers by sample; empty without a machine.
    pub raw: Vec<Vec<i32>>,
    /// Whether samples are rows of vectors with an unknown number of padding lanes.
    pub is_rows: bool,
}

impl Stack {
    /// Creates an empty stack for an output.
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

    /// Joins all samples in one tensor.
    pub(crate) fn stacked(&self) -> Result<Tensor, Error> {
        let shape = self.stacked_shape();
        let tensor = Tensor::new(shape.clone(), joined(&self.samples));
        let tensor = tensor.map_err(|data| self.misfit(data.len(), &shape))?;
        // Conversion cannot fail: the samples already have this type.
        let element = self.samples.first().map_or(tensor.element(), Tensor::element);
        tensor.with_element(element).map_err(|error| self.failed(error.to_string()))
    }

    /// Joins the machine's integers of all samples in one tensor.
    pub(crate) fn stacked_integers(&self) -> Result<Tensor, Error> {
        let (shape, raw) = (self.stacked_shape(), self.raw.concat());
        if raw.is_empty() && !shape.contains(&0) {
            let message =
                "the host computes it after the last segment, so it has no integers; leave out `--raw`";
            return Err(self.failed(message.to_owned()));
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

/// Joins the elements of tensors of one type.
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
