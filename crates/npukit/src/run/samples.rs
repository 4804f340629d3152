//! Outputs of several samples: reporting and writing them.

use npukit_numeric::npy::{NpyArray, member_names, write_npz};
use npukit_numeric::{Tensor, TensorData};
use serde::Serialize;

use crate::error::Error;
use crate::numbers::classes;
use crate::run::stack::Stack;
use crate::run::summary::Summary;

/// Maximum number of elements of a sample that are shown one by one.
const SHORT: usize = 16;
/// Number of samples whose elements are shown.
const SHOWN: usize = 8;

/// Output over all samples, as `--json` shows it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct OutputReport {
    /// Name in the model.
    pub name: String,
    /// Name in the `.npz` file, if it differs: see [`member_names`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub member: Option<String>,
    /// Shape of all samples, joined along the first axis.
    pub shape: Vec<usize>,
    /// Argmax for each sample and for each of at most 16 positions; `None` for NaN. Missing for
    /// outputs that do not look like classes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub argmax: Option<Vec<Option<usize>>>,
    /// Statistics of the elements.
    #[serde(flatten)]
    pub summary: Summary,
    /// Elements of the first eight samples, row-major. Missing for outputs with more than 16
    /// elements per sample. Numbers that are not finite are `null` in JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schemas", schemars(with = "Option<Vec<Vec<Option<f64>>>>"))]
    pub values: Option<Vec<Vec<f64>>>,
}

/// Tensor of `--dump` over all samples, as `--json` shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DumpedTensor {
    /// Name in the model; with `--compare` after `machine/`, `float/` or `layer/`.
    pub name: String,
    /// Name in the `.npz` file, if it differs: see [`member_names`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub member: Option<String>,
    /// Shape of all samples, joined along the first axis.
    pub shape: Vec<usize>,
}

impl Stack {
    /// Creates the report's entry.
    fn report(&self) -> OutputReport {
        OutputReport {
            name: self.name.clone(),
            member: None,
            shape: self.stacked_shape(),
            argmax: classes::argmax(self),
            summary: Summary::of(&self.samples),
            values: self.first_values(),
        }
    }

    /// Returns the elements of the first samples, if there are few.
    fn first_values(&self) -> Option<Vec<Vec<f64>>> {
        let elements: usize = self.shape.iter().product();
        (elements <= SHORT).then(|| self.samples.iter().take(SHOWN).map(Tensor::reals).collect())
    }
}

/// Creates the report's entries for all outputs, with their names in the `.npz` file.
pub(crate) fn reports(stacks: &[Stack]) -> Vec<OutputReport> {
    let named = |(stack, member): (&Stack, String)| {
        let member = Some(member).filter(|member| *member != stack.name);
        OutputReport { member, ..stack.report() }
    };
    stacks.iter().zip(members(stacks)).map(named).collect()
}

fn members(stacks: &[Stack]) -> Vec<String> {
    member_names(stacks.iter().map(|stack| stack.name.as_str()))
}

/// Returns the index of the largest value: the first of equals, 0 without values.
pub(crate) fn argmax(tensor: &Tensor) -> usize {
    fn largest<T: PartialOrd>(values: &[T]) -> usize {
        let better = |best: usize, i: usize| if values[i] > values[best] { i } else { best };
        // Default: 0 for an empty tensor, as documented.
        (0..values.len()).reduce(better).unwrap_or(0)
    }
    match tensor.data() {
        TensorData::F32(values) => largest(values),
        TensorData::I64(values) => largest(values),
        TensorData::I32(values) => largest(values),
        TensorData::Bool(values) => largest(values),
    }
}

/// Outputs of all samples.
pub struct Outputs {
    pub(crate) stacks: Vec<Stack>,
    /// Contents of an `.npz` file with every tensor, as in [`Files`](crate::verbs::run::Files);
    /// `None` if not requested.
    pub dump: Option<Vec<u8>>,
}

impl Outputs {
    /// Returns each output by name, with the samples joined along the first axis.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Output`] if the values do not match their shape.
    pub fn tensors(&self) -> Result<Vec<(String, Tensor)>, Error> {
        self.stacks.iter().map(|stack| Ok((stack.name.clone(), stack.stacked()?))).collect()
    }

    /// Returns each output by name as the machine's integers.
    ///
    /// # Errors
    ///
    /// Returns [`Error::Output`] for an output that the host computes.
    pub fn integers(&self) -> Result<Vec<(String, Tensor)>, Error> {
        self.stacks.iter().map(|stack| Ok((stack.name.clone(), stack.stacked_integers()?))).collect()
    }

    /// Returns an `.npz` file of all outputs: values, or the machine's integers if `raw`.
    ///
    /// # Errors
    ///
    /// Fails as [`Self::tensors`] and [`Self::integers`] do.
    pub fn npz(&self, raw: bool) -> Result<Vec<u8>, Error> {
        npz(&self.stacks, raw)
    }
}

/// Returns an `.npz` file of all outputs: values, or the machine's integers if `raw`.
fn npz(stacks: &[Stack], raw: bool) -> Result<Vec<u8>, Error> {
    let tensor = if raw { Stack::stacked_integers } else { Stack::stacked };
    let tensors = stacks.iter().map(tensor).collect::<Result<Vec<_>, _>>()?;
    let members = members(stacks);
    let arrays: Vec<_> = members.iter().map(String::as_str).zip(tensors.iter().map(NpyArray::from)).collect();
    write_npz(&arrays).map_err(Error::Array)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use npukit_numeric::ElementType;
    use npukit_numeric::npy::read_npz;

    use super::*;

    fn stack(samples: &[&[f32]]) -> Stack {
        let tensor = |sample: &&[f32]| Tensor::from_f32(vec![1, 3], sample.to_vec()).unwrap();
        let samples = samples.iter().map(tensor).collect();
        Stack { name: "y".into(), shape: vec![1, 3], samples, ..Stack::default() }
    }

    #[test]
    fn samples_follow_each_other_along_the_first_axis() {
        let report = stack(&[&[0.0, 2.0, 1.0], &[3.0, 2.0, 3.0]]).report();
        assert_eq!((report.shape, report.argmax), (vec![2, 3], Some(vec![Some(1), Some(0)])));
        assert_eq!(report.values, Some(vec![vec![0.0, 2.0, 1.0], vec![3.0, 2.0, 3.0]]));
    }

    #[test]
    fn few_elements_of_few_samples_are_shown() {
        let samples = vec![Tensor::from_f32(vec![17], vec![1.0; 17]).unwrap()];
        let long = Stack { name: "y".into(), shape: vec![17], samples, ..Stack::default() };
        assert_eq!(long.report().values, None);
        let many = stack(&[&[0.0, 1.0, 2.0][..]; 20]);
        assert_eq!(many.report().values.map(|values| values.len()), Some(SHOWN));
    }

    #[test]
    fn outputs_are_written_as_they_are() {
        let typed = |tensor: Tensor| tensor.with_element(ElementType::U32).unwrap();
        let scalar = |value| typed(Tensor::new(Vec::new(), TensorData::I64(vec![value])).unwrap());
        let stack = |samples| Stack { name: "n".into(), samples, ..Stack::default() };
        let written = |stack| read_npz("n", &npz(&[stack], false).unwrap()).unwrap();
        assert_eq!(written(stack(vec![scalar(7)])), [("n".to_owned(), scalar(7))]);
        let both = typed(Tensor::new(vec![2], TensorData::I64(vec![7, 8])).unwrap());
        assert_eq!(written(stack(vec![scalar(7), scalar(8)])), [("n".to_owned(), both)]);
    }
}
