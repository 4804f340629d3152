//! [`NonFinite`]: NaN and infinity, which no comparison and no number format survives.

use npukit_numeric::Tensor;
use serde::Serialize;

use crate::inputs::Sample;
use crate::samples::Stack;

/// How many numbers are NaN or infinite.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, schemars::JsonSchema)]
#[non_exhaustive]
pub struct NonFinite {
    /// Elements of the inputs.
    pub inputs: u64,
    /// Elements of the outputs.
    pub outputs: u64,
    /// Elements of the outputs of the float evaluator; 0 when there is nothing to compare with.
    pub float_outputs: u64,
    /// Elements of constants of the model: those that are multiplied by, and NaN anywhere. Infinities that mask or
    /// bound are legal.
    pub constants: u64,
}

impl NonFinite {
    /// What there is of them among inputs and outputs.
    pub(crate) fn of(samples: &[Sample], outputs: &[Stack]) -> Self {
        let inputs = samples.iter().flatten().map(|(_, tensor)| count(tensor)).sum();
        Self { inputs, outputs: of_outputs(outputs), ..Self::default() }
    }

    /// The same, compared with float.
    pub(crate) fn beside(self, reference: &[Stack]) -> Self {
        Self { float_outputs: of_outputs(reference), ..self }
    }

    /// Whether numbers that are none were compared.
    pub(crate) fn is_compared(&self) -> bool {
        self.inputs + self.outputs + self.float_outputs > 0
    }

    /// A sentence for each kind.
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

fn count(tensor: &Tensor) -> u64 {
    // Default: integers are all finite.
    tensor.as_f32().unwrap_or_default().iter().filter(|x| !x.is_finite()).count() as u64
}
