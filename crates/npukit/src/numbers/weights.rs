//! Weights whose values on the machine differ from the model: [`Weight`].
//!
//! NaN and infinity are searched in the original model. Saturation and underflow are searched in
//! the compiled graph, after batch normalizations are folded and scales are chosen.

use std::collections::{HashMap, HashSet};

use npukit_graph::{Graph, Node, Op, Value, ValueId};
use npukit_numeric::NumberFormat;
use serde::Serialize;

use crate::numbers::quantize::{self, QuantizedTensor};
use crate::numbers::underflow::Usage;

/// Constant operand of a node.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
#[non_exhaustive]
pub struct Weight {
    /// Name of the first node that reads it.
    pub node: String,
    /// Name of the tensor.
    pub tensor: String,
    /// Number of elements.
    pub elements: u64,
    /// Number of elements that are NaN, or infinite factors.
    pub non_finite: u64,
    /// Number of elements outside the target's range.
    pub saturated: u64,
    /// Number of nonzero elements that are rounded to 0.
    pub underflows: u64,
    /// Number of bits for the largest magnitude, including the sign; `None` in a format without a
    /// fixed step.
    pub bits_used: Option<u32>,
    /// Whether it holds little more than signs, or most of its elements are rounded to 0.
    pub is_poor: bool,
}

/// Returns the weights that differ from the model: NaN and infinity in `model`, and rounding of
/// `compiled` to `format`.
pub(crate) fn altered(model: &Graph, compiled: &Graph, format: Option<NumberFormat>) -> Vec<Weight> {
    let mut all = bad_constants(model);
    let format = format.and_then(|format| Some((format.largest(), format.step()?)));
    let Some((largest, step)) = format else { return all };
    let mut seen = vec![false; compiled.values.len()];
    for node in &compiled.nodes {
        for (place, &id) in node.inputs.iter().enumerate() {
            if !std::mem::replace(&mut seen[id.0 as usize], true) {
                all.extend(rounded(compiled, node, place, id, largest, step).filter(Weight::is_altered));
            }
        }
    }
    all
}

/// Rounds a constant float operand to a format.
fn rounded(graph: &Graph, node: &Node, place: usize, id: ValueId, largest: f64, step: f64) -> Option<Weight> {
    let values = graph.constant(id)?.as_f32()?;
    let is_factor = is_factor(node, place);
    // Very large negative values are masks.
    let saturates =
        |x: &&f32| x.is_finite() && f64::from(x.abs()) > largest + step / 2.0 && (is_factor || **x > 0.0);
    let used = Usage::of(values, step).used(&graph.value(id).name);
    let is_weight = is_factor && place == 1 && !matches!(node.op, Op::BatchNormalization(_));
    Some(Weight {
        node: node.name.clone(),
        tensor: used.name.clone(),
        elements: used.elements,
        non_finite: 0,
        saturated: values.iter().filter(saturates).count() as u64,
        underflows: used.underflows,
        bits_used: Some(used.bits_used),
        is_poor: is_weight
            && (used.is_poor() || used.underflows as f64 >= MAX_VANISHED * used.elements as f64),
    })
}

/// Returns the effect of quantization on the weights and biases of a graph.
pub(crate) fn quantized(graph: &Graph, report: &quantize::Report) -> Vec<Weight> {
    let by_name: HashMap<&str, &QuantizedTensor> =
        report.tensors.iter().map(|tensor| (tensor.name.as_str(), tensor)).collect();
    let mut seen = HashSet::new();
    let mut all = Vec::new();
    for node in &graph.nodes {
        let constants = node.inputs.iter().filter(|&&id| graph.constant(id).is_some() && seen.insert(id));
        let values: Vec<&Value> = constants.map(|&id| graph.value(id)).collect();
        let found = values.into_iter().filter_map(|value| Some((value, *by_name.get(value.name.as_str())?)));
        all.extend(found.map(|(value, tensor)| as_integers(node, value, tensor)).filter(Weight::is_altered));
    }
    all
}

fn as_integers(node: &Node, value: &Value, tensor: &QuantizedTensor) -> Weight {
    let elements = value.info.shape.iter().product::<usize>() as u64;
    let of = |share: f64| (share * elements as f64).round() as u64;
    Weight {
        node: node.name.clone(),
        tensor: value.name.clone(),
        elements,
        non_finite: 0,
        saturated: of(tensor.saturated),
        underflows: of(tensor.underflowed),
        bits_used: Some(tensor.bits_used),
        is_poor: tensor.kind == "weights" && tensor.underflowed >= MAX_VANISHED,
    }
}

/// Share of weights that may become 0 without a warning.
const MAX_VANISHED: f64 = 0.5;

impl Weight {
    fn is_altered(&self) -> bool {
        self.non_finite + self.saturated + self.underflows > 0 || self.is_poor
    }
}

/// Number of tensors that a sentence names.
const NAMED: usize = 3;

/// Returns one sentence for each kind of damage.
pub(crate) fn warnings(weights: &[Weight]) -> Vec<String> {
    let vanished = |weight: &Weight| if weight.is_poor { weight.underflows.max(1) } else { 0 };
    let sentences = [
        sentence(
            weights,
            |weight| weight.non_finite,
            "are NaN or infinite, and so are results computed from them",
        ),
        sentence(weights, |weight| weight.saturated, "are outside the target's range and saturate"),
        sentence(weights, vanished, "are rounded to 0 or nearly so"),
    ];
    sentences.into_iter().flatten().collect()
}

fn sentence(weights: &[Weight], count: impl Fn(&Weight) -> u64, what: &str) -> Option<String> {
    let named = |weight: &Weight| {
        let Weight { node, tensor, elements, .. } = weight;
        format!("{} of {elements} in `{tensor}` of node `{node}`", count(weight))
    };
    let found: Vec<&Weight> = weights.iter().filter(|weight| count(weight) > 0).collect();
    let names: Vec<String> = found.iter().take(NAMED).map(|weight| named(weight)).collect();
    let more = found.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and more in {more} other tensors") } else { String::new() };
    (!found.is_empty()).then(|| format!("weights {what}: {}{more}", names.join(", ")))
}

/// Counts elements of constants that make all results invalid, and returns a sentence for each
/// constant.
pub(crate) fn non_finite_constants(graph: &Graph) -> (u64, Vec<String>) {
    let found = bad_constants(graph);
    let sentence = |Weight { node, tensor, non_finite, .. }: &Weight| {
        let numbers = if *non_finite == 1 { "number that is" } else { "numbers that are" };
        format!("constant `{tensor}` of node `{node}` holds {non_finite} {numbers} NaN or infinite")
    };
    (found.iter().map(|weight| weight.non_finite).sum(), found.iter().map(sentence).collect())
}

/// Returns constants that make all results invalid.
fn bad_constants(graph: &Graph) -> Vec<Weight> {
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
fn is_factor(node: &Node, place: usize) -> bool {
    match &node.op {
        Op::Conv(_) | Op::ConvTranspose(_) | Op::Gemm(_) | Op::BatchNormalization(_) => place > 0,
        Op::MatMul(_) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use npukit_graph::ValueInfo;
    use npukit_graph::op::{Binary, BinaryKind, MatMul};
    use npukit_numeric::{ElementType, FixedFormat, Tensor};

    use super::*;

    /// Graph of `x w + mask`.
    fn graph(weights: [f32; 4]) -> Graph {
        let mut graph = Graph::default();
        let x = graph.add_input("x", ValueInfo { shape: vec![1, 2], element: ElementType::F32 });
        let w = graph.add_constant("w", Tensor::from_f32(vec![2, 2], weights.to_vec()).unwrap());
        let mask = graph.add_constant("mask", Tensor::from_f32(vec![2], vec![f32::MIN, 0.0]).unwrap());
        let y = graph.add_node("first", MatMul.into(), vec![x, w], &["y"]).unwrap()[0];
        let add = Binary { kind: BinaryKind::Add };
        graph.outputs = graph.add_node("second", add.into(), vec![y, mask], &["z"]).unwrap();
        graph
    }

    fn sentences(weights: [f32; 4]) -> Vec<String> {
        let graph = graph(weights);
        let format = NumberFormat::Fixed(FixedFormat { width: 16, binary_point: 8 });
        warnings(&altered(&graph, &graph, Some(format)))
    }

    #[test]
    fn weights_that_harm_are_told_with_their_names() {
        assert!(sentences([1.0, -0.5, 0.25, 127.0]).is_empty());
        let [one] = &sentences([1.0, f32::NAN, f32::INFINITY, 0.5])[..] else { panic!("one sentence") };
        assert!(one.contains("2 of 4 in `w` of node `first`") && one.contains("NaN"), "{one}");
        let [one] = &sentences([1.0, -200.0, 300.0, 0.5])[..] else { panic!("one sentence") };
        assert!(one.contains("2 of 4 in `w` of node `first`") && one.contains("saturate"), "{one}");
        let [one] = &sentences([1e-5, 2e-5, 0.0, 1e-3])[..] else { panic!("one sentence") };
        assert!(one.contains("3 of 4 in `w` of node `first`") && one.contains("rounded to 0"), "{one}");
    }

    #[test]
    fn floats_neither_saturate_nor_vanish() {
        let graph = graph([1e30, 1e-30, 1.0, f32::NAN]);
        let [one] = &altered(&graph, &graph, Some(NumberFormat::Float32))[..] else { panic!("one weight") };
        assert_eq!((one.non_finite, one.saturated, one.bits_used), (1, 0, None));
    }
}
