//! [`rounded`]: the prepared graph with its constants replaced by the rounded constants of the
//! plan.

use std::ops::RangeInclusive;

use npukit_graph::op::{AveragePool, Binary, BinaryKind, Conv, Op, PadMode, Reduce, ReduceKind};
use npukit_graph::{Graph, Node, Value, ValueId};
use npukit_lower::Problem;
use npukit_numeric::Tensor;

use super::format::Format;
use crate::config::column::columns;
use crate::config::fabric::Fabric;
use crate::machine::exec::word::integer;

/// How a constant of a node was rounded.
#[derive(Clone, Debug)]
pub(super) enum Rounding {
    /// A constant was quantized with this fraction length.
    Constant {
        /// Id of the constant.
        id: ValueId,
        /// Fraction length of its words.
        fraction: i32,
        /// Range that words are clamped to.
        range: RangeInclusive<i16>,
    },
    /// The only number of the operator.
    Factor(f32),
    /// A factor and an addend per channel.
    Affine {
        /// Factors by channel.
        factors: Vec<f32>,
        /// Addends by channel.
        addends: Vec<f32>,
    },
    /// Steps of Newton's method.
    Root {
        /// Initial guess.
        guess: f32,
        /// Number of steps.
        steps: usize,
    },
    /// Limits; infinite if absent.
    Limits {
        /// Lower limit.
        min: f32,
        /// Upper limit.
        max: f32,
    },
}

/// Rounding of constants, each with the index of its node.
pub(super) type Roundings = Vec<(usize, Rounding)>;

impl Rounding {
    /// Rounding of a constant without limits.
    pub const fn constant(id: ValueId, fraction: i32) -> Self {
        Self::Constant { id, fraction, range: i16::MIN..=i16::MAX }
    }
}

/// Returns the number that a word represents.
pub(super) fn real(word: i16, fraction: i32) -> f32 {
    (f64::from(word) * 2f64.powi(-fraction)) as f32
}

/// Returns a prepared graph with the constants of its plan, given the fraction lengths of the
/// plan's values.
///
/// # Errors
///
/// Nodes cannot be lowered, so the plan is not of this graph.
pub fn rounded(fabric: &Fabric, graph: &Graph, fractions: Vec<i32>) -> Result<Graph, Vec<Problem>> {
    let problem = |reason| vec![Problem::new("fabric", "fabric", reason, "use the fabric of the plan")];
    let columns = columns(fabric).map_err(problem)?;
    let format = Format::known(&columns, fabric.options.extensions, fractions.into_iter());
    let (lowered, roundings) = super::lower_in(fabric, graph, format)?;
    let mut result = graph.clone();
    let mut nodes = std::mem::take(&mut result.nodes);
    // For each node that precedes another one, the index of the latter.
    let mut owners = Vec::new();
    for (number, rounding) in roundings {
        if let Some(node) = nodes.get_mut(number) {
            apply(&mut result, node, rounding, number);
            owners.resize(result.nodes.len(), number);
        }
    }
    let mut before = owners.into_iter().zip(std::mem::take(&mut result.nodes)).peekable();
    for (number, node) in nodes.into_iter().enumerate() {
        while let Some((_, part)) = before.next_if(|(owner, _)| *owner == number) {
            result.nodes.push(part);
        }
        result.nodes.push(node);
    }
    // Outputs are processed after the nodes because constants of nodes have their own fraction
    // lengths.
    for &id in &graph.outputs {
        let Some(values) = graph.constant(id).and_then(|constant| constant.as_f32()) else { continue };
        let fraction = lowered.values[id.0 as usize].fraction;
        let values = values.iter().map(|&x| real(integer(x.into(), fraction), fraction)).collect();
        result.values[id.0 as usize].constant = Some(tensor(graph.shape(id).to_vec(), values).into());
    }
    Ok(result)
}

/// Replaces the constants of a node by rounded ones. Nodes that must precede it are appended to the
/// graph.
fn apply(graph: &mut Graph, node: &mut Node, rounding: Rounding, number: usize) {
    match (rounding, node.op.clone()) {
        (Rounding::Constant { id, fraction, range }, _) => {
            let Some(values) = graph.constant(id).and_then(|constant| constant.as_f32()) else { return };
            let word = |x: f32| integer(x.into(), fraction).clamp(*range.start(), *range.end());
            let values = values.iter().map(|&x| real(word(x), fraction)).collect();
            let shape = graph.shape(id).to_vec();
            let rounded = constant(graph, shape, values, number);
            node.inputs.iter_mut().filter(|input| **input == id).for_each(|input| *input = rounded);
        }
        (Rounding::Factor(factor), Op::LeakyRelu(mut relu)) => {
            relu.alpha = factor;
            node.op = relu.into();
        }
        (Rounding::Factor(factor), Op::Pad(mut pad)) => {
            pad.mode = PadMode::Constant(factor);
            node.op = pad.into();
        }
        (Rounding::Limits { min, max }, Op::Clip(mut clip)) => {
            (clip.min, clip.max) = (min, max);
            node.op = clip.into();
        }
        (Rounding::Factor(factor), Op::AveragePool(pool)) => pooled(graph, node, &pool, factor, number),
        (
            Rounding::Factor(factor),
            Op::Reduce(Reduce { kind: ReduceKind::Mean | ReduceKind::Sum, axes, keep_dims }),
        ) => {
            let op = Reduce { kind: ReduceKind::Sum, axes, keep_dims }.into();
            let factor = constant(graph, Vec::new(), vec![factor], number);
            split(graph, node, (op, node.inputs.clone()), BinaryKind::Mul, factor);
        }
        (Rounding::Affine { factors, addends }, _) => {
            let channels = vec![factors.len()];
            let factors = constant(graph, channels.clone(), factors, number);
            let addends = constant(graph, channels, addends, number);
            let Some(&x) = node.inputs.first() else { return };
            let op = Binary { kind: BinaryKind::Mul }.into();
            split(graph, node, (op, vec![x, factors]), BinaryKind::Add, addends);
        }
        (Rounding::Root { guess, steps }, _) => root(graph, node, guess, steps, number),
        (Rounding::Factor(_) | Rounding::Limits { .. }, _) => {}
    }
}

/// Replaces a mean of windows by a convolution per channel.
fn pooled(graph: &mut Graph, node: &mut Node, pool: &AveragePool, factor: f32, number: usize) {
    let Some(channels) = node.inputs.first().and_then(|&x| graph.shape(x).last().copied()) else { return };
    let [kh, kw] = pool.window.kernel;
    let weights = constant(graph, vec![kh, kw, 1, channels], vec![factor; kh * kw * channels], number);
    let (strides, dilations, pads) = (pool.window.strides, pool.window.dilations, pool.window.pads);
    node.op = Conv { strides, dilations, pads, group: channels }.into();
    node.inputs.truncate(1);
    node.inputs.push(weights);
}

/// Replaces a root by repeated steps `(s + x / s) / 2`.
fn root(graph: &mut Graph, node: &mut Node, guess: f32, steps: usize, number: usize) {
    let (Some(&x), Some(&y)) = (node.inputs.first(), node.outputs.first()) else { return };
    let half = constant(graph, Vec::new(), vec![0.5], number);
    let mut root = constant(graph, Vec::new(), vec![guess], number);
    for step in 0..steps {
        let quotient = before(graph, node, BinaryKind::Div, [x, root], y);
        let sum = before(graph, node, BinaryKind::Add, [quotient, root], y);
        if step + 1 < steps {
            root = before(graph, node, BinaryKind::Mul, [sum, half], y);
        } else {
            (node.op, node.inputs) = (Binary { kind: BinaryKind::Mul }.into(), vec![sum, half]);
        }
    }
}

/// Adds a node before `node` with the shape and type of `like`, and returns its result.
fn before(graph: &mut Graph, node: &Node, kind: BinaryKind, inputs: [ValueId; 2], like: ValueId) -> ValueId {
    let (name, info) = (graph.fresh_name(&node.name), graph.value(like).info.clone());
    let result = graph.add_value(Value { name: name.clone(), info, constant: None });
    let op = Binary { kind }.into();
    graph.nodes.push(Node { name, op, inputs: inputs.to_vec(), outputs: vec![result] });
    result
}

/// Replaces a node by two: the first on these operands, the second on its result and a constant.
fn split(graph: &mut Graph, node: &mut Node, first: (Op, Vec<ValueId>), kind: BinaryKind, operand: ValueId) {
    let Some(&y) = node.outputs.first() else { return };
    let (name, info) = (graph.fresh_name(&node.name), graph.value(y).info.clone());
    let middle = graph.add_value(Value { name: name.clone(), info, constant: None });
    graph.nodes.push(Node { name, op: first.0, inputs: first.1, outputs: vec![middle] });
    (node.op, node.inputs) = (Binary { kind }.into(), vec![middle, operand]);
}

fn constant(graph: &mut Graph, shape: Vec<usize>, values: Vec<f32>, number: usize) -> ValueId {
    let name = graph.fresh_name(&format!("rounded {number}"));
    graph.add_constant(name, tensor(shape, values))
}

fn tensor(shape: Vec<usize>, values: Vec<f32>) -> Tensor {
    Tensor::from_f32(shape, values).expect("the number of values matches the shape of the constant")
}
