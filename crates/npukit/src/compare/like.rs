//! [`Like`]: names and shapes of a model, lent to an artifact that knows only rows of vectors.

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

/// What a model lends to the inputs and outputs of an artifact.
pub(crate) struct Like {
    inputs: Vec<Lent>,
    outputs: Vec<Lent>,
}

/// What a model lends to one of them.
struct Lent {
    /// The artifact's.
    port: Port,
    /// The model's.
    wanted: Wanted,
    /// How the one lies in the rows of the other; none where the artifact knows the shape.
    rows: Option<Rows>,
}

/// A tensor in rows of vectors: its channels last, those of each place filled up to whole vectors.
struct Rows {
    /// The model's axis of channels.
    axis: usize,
    vectors: [usize; 2],
    /// For each scalar of the rows the element of the model, row-major; none for what fills them up.
    elements: Vec<Option<usize>>,
}

impl Like {
    /// What `model` lends to the artifact at `path`, by name where the names are the same, else in order.
    ///
    /// # Errors
    ///
    /// [`Error::NotLike`] where numbers or sizes of inputs or outputs are not the same.
    pub fn new(compiled: &dyn Compiled, model: &Model, path: &str) -> Result<Self, Error> {
        Self::of(compiled, model).map_err(|reason| Error::NotLike { path: path.to_owned(), reason })
    }

    /// As [`Self::new`]; the error says what is not the same.
    pub(crate) fn of(compiled: &dyn Compiled, model: &Model) -> Result<Self, String> {
        let outputs = model::output_ports(&model.graph).into_iter().map(|port| Wanted {
            channels: wanted::channels_by_sizes(&port.shape),
            port,
            element: None,
            initial: None,
        });
        Ok(Self {
            inputs: lent("inputs", compiled.inputs(), wanted::of_model(model))?,
            outputs: lent("outputs", compiled.outputs(), outputs.collect())?,
        })
    }

    /// The inputs of the model, which may also be given as rows.
    pub fn inputs(&self) -> Vec<Wanted> {
        self.inputs.iter().map(|lent| lent.wanted.clone()).collect()
    }

    /// A sample of the model for the artifact.
    pub fn packed(&self, sample: Sample) -> Sample {
        let of = |(name, tensor): (String, Tensor)| {
            let Some(lent) = self.inputs.iter().find(|lent| lent.wanted.port.name == name) else {
                return (name, tensor);
            };
            let rows = lent.rows.as_ref().filter(|_| tensor.shape() == lent.wanted.port.shape);
            let packed = rows.and_then(|rows| rows.pack(&tensor));
            // Default: rows stay as they are given; what the artifact does not take it refuses.
            (lent.port.name.clone(), packed.unwrap_or(tensor))
        };
        sample.into_iter().map(of).collect()
    }

    /// The output of the artifact that the model calls `name`, where both have its elements in one order.
    pub fn output_of(&self, name: &str) -> Option<String> {
        let lent = self.outputs.iter().find(|lent| lent.wanted.port.name == name && lent.rows.is_none());
        lent.map(|lent| lent.port.name.clone())
    }

    /// The outputs of the artifact as those of the model.
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
            // Sizes were compared: an output that is not of its port's is shown as it is.
            _ => stack,
        }
    }

    /// What was understood, a sentence each.
    pub fn notes(&self) -> Vec<String> {
        let all = self.inputs.iter().chain(&self.outputs);
        all.filter_map(|lent| {
            let (rows, Wanted { port, .. }) = (lent.rows.as_ref()?, &lent.wanted);
            let Rows { axis, vectors: [count, lanes], .. } = rows;
            Some(format!(
                "`{}` is {count} rows of {lanes} and was taken for `{}` of shape {:?}, channels on axis {axis}",
                lent.port.name, port.name, port.shape
            ))
        })
        .collect()
    }
}

/// What the model's inputs or outputs lend to those of an artifact; the error says why they cannot.
fn lent(kind: &'static str, ports: Vec<Port>, mut models: Vec<Wanted>) -> Result<Vec<Lent>, String> {
    if ports.len() != models.len() {
        return Err(format!("it has {} {kind}, the artifact {}", models.len(), ports.len()));
    }
    let place = |port: &Port, models: &[Wanted]| models.iter().position(|model| model.port.name == port.name);
    if ports.iter().all(|port| place(port, &models).is_some()) {
        models.sort_by_key(|model| ports.iter().position(|port| port.name == model.port.name));
    }
    ports.into_iter().zip(models).map(|(port, wanted)| Lent::new(port, wanted)).collect()
}

impl Lent {
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
    /// Those of a tensor, by the first axis of its channels that makes so many: the one that is known, else the last or
    /// that behind the batch.
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

    /// A tensor of the model as rows.
    fn pack(&self, tensor: &Tensor) -> Option<Tensor> {
        Tensor::from_f32(self.vectors.to_vec(), self.packed(tensor.as_f32()?)?).ok()
    }

    /// Elements of the model as the scalars of rows; none where there are too few.
    fn packed<T: Clone + Default>(&self, values: &[T]) -> Option<Vec<T>> {
        let scalar = |element: &Option<usize>| match element {
            Some(element) => values.get(*element).cloned(),
            None => Some(T::default()),
        };
        self.elements.iter().map(scalar).collect()
    }

    /// Rows as a tensor of the model's `shape`.
    fn unpack(&self, tensor: &Tensor, shape: &[usize]) -> Option<Tensor> {
        let data = match tensor.data() {
            TensorData::F32(values) => TensorData::F32(self.unpacked(values)?),
            TensorData::I32(values) => TensorData::I32(self.unpacked(values)?),
            TensorData::I64(_) | TensorData::Bool(_) => return None,
        };
        Tensor::new(shape.to_vec(), data).ok()
    }

    /// The scalars of rows as elements of the model; none where there are too few.
    fn unpacked<T: Clone + Default>(&self, scalars: &[T]) -> Option<Vec<T>> {
        let mut values = vec![T::default(); self.elements.iter().flatten().count()];
        for (scalar, element) in self.elements.iter().enumerate() {
            if let Some(element) = element {
                *values.get_mut(*element)? = scalars.get(scalar)?.clone();
            }
        }
        Some(values)
    }

    /// The scalar of the rows that an element of the model is.
    fn scalar(&self, element: usize) -> Option<usize> {
        self.elements.iter().position(|&other| other == Some(element))
    }
}

/// The elements of a tensor with `axis` as its last one, in vectors of `lanes`.
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
        Rows::of(&Wanted { port, element: None, channels, initial: None }, vectors)
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
