//! [`ShapeSource`]: gives an artifact, which only knows rows of vectors, the names and shapes of
//! its model.

pub(crate) mod field;

use npukit_graph::Operator;
use npukit_graph::op::Transpose;
use npukit_numeric::{Tensor, TensorData};
use npukit_target::{Compiled, Port, Vectors};

use crate::error::Error;
use crate::inputs::Sample;
use crate::inputs::wanted::{self, Wanted};
use crate::model::{self, Model};
use crate::run::stack::Stack;

/// Names and shapes of a model for the inputs and outputs of an artifact.
pub(crate) struct ShapeSource {
    inputs: Vec<PortShape>,
    outputs: Vec<PortShape>,
}

/// Name and shape of the model for one input or output.
struct PortShape {
    /// Input or output of the artifact.
    port: Port,
    /// Input or output of the model.
    wanted: Wanted,
    /// Position of the model's elements in the artifact's rows; `None` if the artifact knows the
    /// shape.
    rows: Option<Rows>,
}

/// Tensor in rows of vectors: channels are last, and each position is padded to whole vectors.
struct Rows {
    /// Channel axis of the model's tensor.
    axis: usize,
    vectors: [usize; 2],
    /// For each scalar of the rows, the row-major index of the model's element; `None` for padding.
    elements: Vec<Option<usize>>,
}

impl ShapeSource {
    /// Matches the inputs and outputs of `model` with the artifact's at `path`: by name if
    /// the names agree, otherwise in order.
    ///
    /// # Errors
    ///
    /// Returns [`Error::OtherModel`] if the number or the sizes of inputs or outputs differ.
    pub fn new(compiled: &dyn Compiled, model: &Model, path: &str) -> Result<Self, Error> {
        Self::of(compiled, model).map_err(|reason| Error::OtherModel { path: path.to_owned(), reason })
    }

    /// Like [`Self::new`], but the error is a description of the first difference.
    pub(crate) fn of(compiled: &dyn Compiled, model: &Model) -> Result<Self, String> {
        let outputs = model::output_ports(&model.graph).into_iter().map(|port| Wanted {
            channels: wanted::channels_by_sizes(&port.shape),
            port,
            element: None,
            initial: None,
            range: None,
        });
        Ok(Self {
            inputs: lent("inputs", compiled.inputs(), wanted::of_model(model))?,
            outputs: lent("outputs", compiled.outputs(), outputs.collect())?,
        })
    }

    /// Returns the inputs of the model, which may also be given as rows.
    pub fn inputs(&self) -> Vec<Wanted> {
        self.inputs.iter().map(|lent| lent.wanted.clone()).collect()
    }

    /// Converts a sample of the model to the artifact's form.
    pub fn packed(&self, sample: Sample) -> Sample {
        let of = |(name, tensor): (String, Tensor)| {
            let Some(lent) = self.inputs.iter().find(|lent| lent.wanted.port.name == name) else {
                return (name, tensor);
            };
            let rows = lent.rows.as_ref().filter(|_| tensor.shape() == lent.wanted.port.shape);
            let packed = rows.and_then(|rows| rows.pack(&tensor));
            // Default: rows stay as given; the artifact refuses what it cannot take.
            (lent.port.name.clone(), packed.unwrap_or(tensor))
        };
        sample.into_iter().map(of).collect()
    }

    /// Returns the artifact's output that the model calls `name`, if both have its elements in the
    /// same order.
    pub fn output_of(&self, name: &str) -> Option<String> {
        let lent = self.outputs.iter().find(|lent| lent.wanted.port.name == name && lent.rows.is_none());
        lent.map(|lent| lent.port.name.clone())
    }

    /// Converts the outputs of the artifact to the model's form.
    pub fn unpacked(&self, stacks: Vec<Stack>) -> Vec<Stack> {
        stacks.into_iter().map(|stack| self.unpacked_one(stack)).collect()
    }

    fn unpacked_one(&self, stack: Stack) -> Stack {
        let Some(lent) = self.outputs.iter().find(|lent| lent.port.name == stack.name) else { return stack };
        let Port { name, shape, .. } = lent.wanted.port.clone();
        let Some(rows) = &lent.rows else { return Stack { name, is_rows: false, ..stack } };
        let values = stack.samples.iter().map(|tensor| rows.unpack(tensor, &shape));
        let raw = stack.raw.iter().map(|raw| {
            let tensor = Tensor::new(rows.vectors.to_vec(), TensorData::I32(raw.clone())).ok()?;
            match rows.unpack(&tensor, &shape)?.data() {
                TensorData::I32(raw) => Some(raw.clone()),
                _ => None,
            }
        });
        match (values.collect::<Option<_>>(), raw.collect::<Option<_>>()) {
            (Some(samples), Some(raw)) => Stack { name, shape, samples, raw, is_rows: false },
            // Sizes were compared before: an output that differs from its port is returned
            // unchanged.
            _ => stack,
        }
    }

    /// Describes each conversion in a sentence.
    pub fn notes(&self) -> Vec<String> {
        let all = self.inputs.iter().chain(&self.outputs);
        all.filter_map(|lent| {
            let (rows, Wanted { port, .. }) = (lent.rows.as_ref()?, &lent.wanted);
            let Rows { axis, vectors: [count, lanes], .. } = rows;
            Some(format!(
                "`{}` is {count} rows of {lanes} and was read as `{}` of shape {:?}, channels on axis {axis}",
                lent.port.name, port.name, port.shape
            ))
        })
        .collect()
    }
}

/// Matches inputs or outputs of the model with an artifact's; the error describes the first
/// difference.
fn lent(kind: &'static str, ports: Vec<Port>, mut models: Vec<Wanted>) -> Result<Vec<PortShape>, String> {
    if ports.len() != models.len() {
        return Err(format!("it has {} {kind}, but the artifact has {}", models.len(), ports.len()));
    }
    let place = |port: &Port, models: &[Wanted]| models.iter().position(|model| model.port.name == port.name);
    if ports.iter().all(|port| place(port, &models).is_some()) {
        models.sort_by_key(|model| ports.iter().position(|port| port.name == model.port.name));
    }
    ports.into_iter().zip(models).map(|(port, wanted)| PortShape::new(port, wanted)).collect()
}

impl PortShape {
    fn new(port: Port, mut wanted: Wanted) -> Result<Self, String> {
        wanted.port.vectors = port.vectors.map(|vectors| Vectors { is_all: false, ..vectors });
        if port.shape == wanted.port.shape {
            return Ok(Self { port, wanted, rows: None });
        }
        let rows = port.only_vectors().and_then(|vectors| Rows::of(&wanted, vectors));
        let misfit = || {
            format!(
                "its `{}` of shape {:?} does not fit `{}`, which is {:?}",
                wanted.port.name, wanted.port.shape, port.name, port.shape
            )
        };
        let rows = rows.ok_or_else(misfit)?;
        Ok(Self { port, wanted, rows: Some(rows) })
    }
}

impl Rows {
    /// Returns the rows of a tensor. The channel axis is the known one, otherwise the last axis or
    /// the axis after the batch, whichever gives this number of vectors.
    fn of(wanted: &Wanted, vectors: [usize; 2]) -> Option<Self> {
        let shape = &wanted.port.shape;
        let axes = wanted.channels.into_iter().chain([shape.len().wrapping_sub(1), 1]);
        axes.filter(|axis| *axis < shape.len()).find_map(|axis| Self::by(shape, axis, vectors))
    }

    fn by(shape: &[usize], axis: usize, vectors: [usize; 2]) -> Option<Self> {
        let [rows, lanes] = vectors;
        let channels = *shape.get(axis)?;
        let elements = shape.iter().try_fold(1usize, |product, &size| product.checked_mul(size))?;
        let places = elements.checked_div(channels)?;
        if lanes == 0 || places.checked_mul(channels.div_ceil(lanes)) != Some(rows) {
            return None;
        }
        Some(Self { axis, vectors, elements: with_channels_last(shape, axis, elements, lanes)? })
    }

    /// Converts a tensor of the model to rows.
    fn pack(&self, tensor: &Tensor) -> Option<Tensor> {
        Tensor::from_f32(self.vectors.to_vec(), self.packed(tensor.as_f32()?)?).ok()
    }

    /// Reorders elements of the model as scalars of rows; `None` if there are too few.
    fn packed<T: Clone + Default>(&self, values: &[T]) -> Option<Vec<T>> {
        let scalar = |element: &Option<usize>| match element {
            Some(element) => values.get(*element).cloned(),
            None => Some(T::default()),
        };
        self.elements.iter().map(scalar).collect()
    }

    /// Converts rows to a tensor of the model's `shape`.
    fn unpack(&self, tensor: &Tensor, shape: &[usize]) -> Option<Tensor> {
        let data = match tensor.data() {
            TensorData::F32(values) => TensorData::F32(self.unpacked(values)?),
            TensorData::I32(values) => TensorData::I32(self.unpacked(values)?),
            TensorData::I64(_) | TensorData::Bool(_) => return None,
        };
        Tensor::new(shape.to_vec(), data).ok()
    }

    /// Reorders scalars of rows as elements of the model; `None` if there are too few.
    fn unpacked<T: Clone + Default>(&self, scalars: &[T]) -> Option<Vec<T>> {
        let mut values = vec![T::default(); self.elements.iter().flatten().count()];
        for (scalar, element) in self.elements.iter().enumerate() {
            if let Some(element) = element {
                *values.get_mut(*element)? = scalars.get(scalar)?.clone();
            }
        }
        Some(values)
    }

    /// Returns the index in the rows of an element of the model.
    fn scalar(&self, element: usize) -> Option<usize> {
        self.elements.iter().position(|&other| other == Some(element))
    }
}

/// Returns the elements of a tensor with `axis` moved to the end, padded to vectors of `lanes`
/// scalars.
fn with_channels_last(
    shape: &[usize],
    axis: usize,
    elements: usize,
    lanes: usize,
) -> Option<Vec<Option<usize>>> {
    let perm = (0..shape.len()).filter(|&other| other != axis).chain([axis]).collect();
    let numbers = TensorData::I64((0..i64::try_from(elements).ok()?).collect());
    let numbers = Tensor::new(shape.to_vec(), numbers).ok()?;
    let last = Transpose { perm }.eval(&[&numbers]).ok()?.pop()?;
    let TensorData::I64(last) = last.data() else { return None };
    let mut scalars = Vec::new();
    for channels in last.chunks(*shape.get(axis)?) {
        scalars.extend(channels.iter().map(|&element| usize::try_from(element).ok()));
        scalars.resize(scalars.len().next_multiple_of(lanes), None);
    }
    Some(scalars)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn rows(shape: &[usize], channels: Option<usize>, vectors: [usize; 2]) -> Option<Rows> {
        let port = Port { name: "x".to_owned(), shape: shape.to_vec(), vectors: None, element: None };
        Rows::of(&Wanted { port, element: None, channels, initial: None, range: None }, vectors)
    }

    #[test]
    fn channels_are_filled_up_to_whole_vectors() {
        let tensor = Tensor::from_f32(vec![1, 3, 1, 2], vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0]).unwrap();
        let lent = rows(tensor.shape(), Some(1), [4, 2]).unwrap();
        let packed = lent.pack(&tensor).unwrap();
        assert_eq!(packed.as_f32().unwrap(), [1.0, 3.0, 5.0, 0.0, 2.0, 4.0, 6.0, 0.0]);
        assert_eq!(lent.unpack(&packed, tensor.shape()).unwrap(), tensor);
    }

    #[test]
    fn the_channels_are_those_that_make_so_many_rows() {
        let axis = |shape: &[usize], channels, vectors| Some(rows(shape, channels, vectors)?.axis);
        assert_eq!(axis(&[1, 10], None, [2, 8]), Some(1));
        assert_eq!(axis(&[1, 16, 8, 8], None, [64, 16]), Some(1));
        assert_eq!(axis(&[1, 8, 8, 16], None, [64, 16]), Some(3));
        assert_eq!(axis(&[1, 16, 8, 8], None, [63, 16]), None);
        assert_eq!(axis(&[], None, [1, 8]), None);
        assert_eq!(axis(&[1, 0], None, [1, 8]), None);
    }
}
