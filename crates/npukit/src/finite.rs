//! [`NonFinite`]: NaN and infinity, which no comparison and no number format survives.

use npukit_graph::{Graph, Node, Op};
use npukit_numeric::Tensor;
use serde::Serialize;

use crate::inputs::Sample;
use crate::samples::Stack;
use crate::weights::Weight;

/// How many numbers are NaN or infinite.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
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
        let told = |(count, what): (u64, &str)| match count {
            0 => None,
            1 => Some(format!("1 number {what} is NaN or infinite")),
            count => Some(format!("{count} numbers {what} are NaN or infinite")),
        };
        kinds.into_iter().filter_map(told).collect()
    }
}

fn of_outputs(stacks: &[Stack]) -> u64 {
    stacks.iter().flat_map(|stack| &stack.samples).map(count).sum()
}

fn count(tensor: &Tensor) -> u64 {
    tensor.as_f32().unwrap_or_default().iter().filter(|x| !x.is_finite()).count() as u64
}

/// Constants that no result survives: how many elements, and a sentence for each constant.
pub(crate) fn constants(graph: &Graph) -> (u64, Vec<String>) {
    let found = bad_constants(graph);
    let told = |Weight { node, tensor, non_finite, .. }: &Weight| {
        let numbers = if *non_finite == 1 { "number that is" } else { "numbers that are" };
        format!("constant `{tensor}` of node `{node}` holds {non_finite} {numbers} NaN or infinite")
    };
    (found.iter().map(|weight| weight.non_finite).sum(), found.iter().map(told).collect())
}

/// Constants that no result survives.
pub(crate) fn bad_constants(graph: &Graph) -> Vec<Weight> {
    let mut seen = vec![false; graph.values.len()];
    let mut found = Vec::new();
    for node in &graph.nodes {
        for (place, &id) in node.inputs.iter().enumerate() {
            let Some(values) = graph.constant(id).and_then(|constant| constant.as_f32()) else { continue };
            let infinity_counts = is_factor(node, place);
            let is_bad = |x: &&f32| x.is_nan() || (infinity_counts && x.is_infinite());
            let non_finite = values.iter().filter(is_bad).count() as u64;
            if non_finite > 0 && !std::mem::replace(&mut seen[id.0 as usize], true) {
                let (node, tensor) = (node.name.clone(), graph.value(id).name.clone());
                let (elements, bits_used) = (values.len() as u64, None);
                let (saturated, underflows, is_poor) = (0, 0, false);
                found.push(Weight {
                    node,
                    tensor,
                    elements,
                    non_finite,
                    saturated,
                    underflows,
                    bits_used,
                    is_poor,
                });
            }
        }
    }
    found
}

/// Whether the node multiplies by the operand.
pub(crate) fn is_factor(node: &Node, place: usize) -> bool {
    match &node.op {
        Op::Conv(_) | Op::ConvTranspose(_) | Op::Gemm(_) | Op::BatchNormalization(_) => place > 0,
        Op::MatMul(_) => true,
        _ => false,
    }
}
