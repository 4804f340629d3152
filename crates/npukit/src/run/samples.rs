//! Outputs of several samples: reported, written.

use npukit_numeric::npy::{NpyArray, member_names, write_npz};
use npukit_numeric::{Tensor, TensorData};
use serde::Serialize;

use crate::error::Error;
use crate::numbers::classes;
use crate::run::stack::Stack;
use crate::run::summary::Summary;

/// Elements of a sample that are shown one by one.
const SHORT: usize = 16;
/// Samples whose elements are.
const SHOWN: usize = 8;

/// An output over all samples, as `--json` shows it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct OutputReport {
    /// Name in the model.
    pub name: String,
    /// Name in the `.npz`, where that is another: see [`member_names`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub member: Option<String>,
    /// Shape of all samples, which follow each other along the first axis.
    pub shape: Vec<usize>,
    /// For each sample, and in it for each of at most 16 positions, the place of the largest class; none where one is
    /// NaN. Not for outputs that do not look like classes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub argmax: Option<Vec<Option<usize>>>,
    /// What the elements are.
    #[serde(flatten)]
    pub summary: Summary,
    /// All elements of the first eight samples, row-major; not for outputs of more than 16 elements a sample. What is not finite is `null` in
    /// JSON.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schemas", schemars(with = "Option<Vec<Vec<Option<f64>>>>"))]
    pub values: Option<Vec<Vec<f64>>>,
}

/// A tensor of `--dump` over all samples, as `--json` shows it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct DumpedTensor {
    /// `machine/`, `float/` or `layer/`, and the name in the model.
    pub name: String,
    /// Name in the `.npz`, where that is another: see [`member_names`].
    #[serde(skip_serializing_if = "Option::is_none")]
    pub member: Option<String>,
    /// Shape of all samples, which follow each other along the first axis.
    pub shape: Vec<usize>,
}

impl Stack {
    /// For the report.
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

    /// The elements of the first samples, where they are few.
    fn first_values(&self) -> Option<Vec<Vec<f64>>> {
        let elements: usize = self.shape.iter().product();
        (elements <= SHORT).then(|| self.samples.iter().take(SHOWN).map(Tensor::reals).collect())
    }
}

/// For the report: all outputs, with their names in the `.npz`.
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

/// The place of the largest value; the first of equals, 0 of none.
pub(crate) fn argmax(tensor: &Tensor) -> usize {
    fn largest<T: PartialOrd>(values: &[T]) -> usize {
        let better = |best: usize, i: usize| if values[i] > values[best] { i } else { best };
        // Default: of none the first place, as the document above says.
        (0..values.len()).reduce(better).unwrap_or(0)
    }
    match tensor.data() {
        TensorData::F32(values) => largest(values),
        TensorData::I64(values) => largest(values),
        TensorData::I32(values) => largest(values),
        TensorData::Bool(values) => largest(values),
    }
}

/// The outputs of all samples.
pub struct Outputs {
    pub(crate) stacks: Vec<Stack>,
    /// `.npz` of every tensor, as in [`Files`](crate::verbs::run::Files); none where nobody asks.
    pub dump: Option<Vec<u8>>,
}

impl Outputs {
    /// Each output by its name, the samples along the first axis.
    ///
    /// # Errors
    ///
    /// [`Error::Output`] for values that do not have their shape.
    pub fn tensors(&self) -> Result<Vec<(String, Tensor)>, Error> {
        self.stacks.iter().map(|stack| Ok((stack.name.clone(), stack.stacked()?))).collect()
    }

    /// The same as the machine's integers.
    ///
    /// # Errors
    ///
    /// [`Error::Output`] for an output that the host makes.
    pub fn integers(&self) -> Result<Vec<(String, Tensor)>, Error> {
        self.stacks.iter().map(|stack| Ok((stack.name.clone(), stack.stacked_integers()?))).collect()
    }

    /// All of them as an `.npz`: values, or the machine's integers.
    ///
    /// # Errors
    ///
    /// Those of [`Self::tensors`] and [`Self::integers`].
    pub fn npz(&self, raw: bool) -> Result<Vec<u8>, Error> {
        npz(&self.stacks, raw)
    }
}

/// An `.npz` of all outputs: values, or the machine's integers.
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
