//! [`NonFinite`]: counts of NaN and infinity, with which no comparison is meaningful. The function
//! [`check`] refuses them.

use npukit_numeric::Tensor;
use serde::Serialize;

use crate::error::Error;
use crate::inputs::Sample;
use crate::run::stack::Stack;

/// Counts of numbers that are NaN or infinite.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct NonFinite {
    /// Number of elements of the inputs.
    pub inputs: u64,
    /// Number of elements of the outputs.
    pub outputs: u64,
    /// Number of elements of the float reference's outputs; 0 without a reference.
    pub float_outputs: u64,
    /// Number of elements of constants of the model: infinite factors, and NaN anywhere. Infinities
    /// used as masks or bounds are legal.
    pub constants: u64,
}

impl NonFinite {
    /// Counts them in inputs and outputs.
    pub(crate) fn of(samples: &[Sample], outputs: &[Stack]) -> Self {
        let inputs = samples.iter().flatten().map(|(_, tensor)| count(tensor)).sum();
        Self { inputs, outputs: of_outputs(outputs), ..Self::default() }
    }

    /// Adds the count for the float reference.
    pub(crate) fn beside(self, reference: &[Stack]) -> Self {
        Self { float_outputs: of_outputs(reference), ..self }
    }

    /// Whether such numbers were part of a comparison.
    pub(crate) fn is_compared(&self) -> bool {
        self.inputs + self.outputs + self.float_outputs > 0
    }

    /// Returns one sentence for each kind.
    pub(crate) fn warnings(&self) -> Vec<String> {
        let kinds = [
            (self.inputs, "of the inputs"),
            (self.outputs, "of the outputs"),
            (self.float_outputs, "of the outputs in float"),
        ];
        let sentence = |(count, what): (u64, &str)| match count {
            0 => None,
            1 => Some(format!("1 number {what} is NaN or infinite")),
            count => Some(format!("{count} numbers {what} are NaN or infinite")),
        };
        kinds.into_iter().filter_map(sentence).collect()
    }
}

fn of_outputs(stacks: &[Stack]) -> u64 {
    stacks.iter().flat_map(|stack| &stack.samples).map(count).sum()
}

/// Refuses samples with NaN or infinity.
///
/// # Errors
///
/// Returns [`Error::NotFinite`] for the first such number.
pub(crate) fn check(samples: &[Sample]) -> Result<(), Error> {
    let mut tensors = samples
        .iter()
        .enumerate()
        .flat_map(|(sample, tensors)| tensors.iter().map(move |(name, tensor)| (sample, name, tensor)));
    let found = tensors.find_map(|(sample, name, tensor)| {
        let (element, value) =
            tensor.as_f32()?.iter().copied().enumerate().find(|(_, value)| !value.is_finite())?;
        Some(Error::NotFinite { name: name.clone(), sample, element, value })
    });
    found.map_or(Ok(()), Err)
}

fn count(tensor: &Tensor) -> u64 {
    // Default: integers are always finite.
    tensor.as_f32().unwrap_or_default().iter().filter(|x| !x.is_finite()).count() as u64
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;

    fn sample(numbers: [f32; 3]) -> Sample {
        let tensor = |numbers: &[f32]| Tensor::from_f32(vec![numbers.len()], numbers.to_vec()).unwrap();
        vec![("x".to_owned(), tensor(&[0.0])), ("y".to_owned(), tensor(&numbers))]
    }

    #[test]
    fn numbers_that_are_none_are_refused_wherever_they_stand() {
        let finite = sample([0.0, f32::MAX, -f32::MIN_POSITIVE]);
        assert!(check(&[finite.clone(), finite.clone()]).is_ok());
        for value in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let error = check(&[finite.clone(), sample([1.0, 2.0, value])]).unwrap_err();
            assert!(
                matches!(&error, Error::NotFinite { name, sample: 1, element: 2, .. } if name == "y"),
                "{error}"
            );
            assert!(error.to_string().contains(&value.to_string()), "{error}");
        }
    }
}
