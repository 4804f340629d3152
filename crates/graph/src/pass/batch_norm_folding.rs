//! Batch normalisation, whole or as the arithmetic it consists of, into the weights before it.

use super::affine::Affine;
use super::edit::{add_floats, floats, has_single_use};
use super::{Pass, PassError};
use crate::ir::{Graph, Node, NodeId, ValueId};
use crate::op::{Binary, BinaryKind, Gemm, Op};

pub(super) const PASS: Pass = Pass {
    name: "batch-norm-folding",
    description: "folds factors and addends by channel (batch normalisation, Mul, Add and alike) into the constant weights of the Conv, ConvTranspose, Gemm or MatMul before",
    run,
};

fn run(graph: &mut Graph) -> Result<bool, PassError> {
    let mut changed = false;
    let mut index = 0;
    let mut links = (graph.producers(), graph.consumers());
    while index < graph.nodes.len() {
        match foldable(graph, &links, index) {
            Some((producer, affine)) => {
                fold(graph, index, producer, &affine)?;
                links = (graph.producers(), graph.consumers());
                changed = true;
            }
            None => index += 1,
        }
    }
    Ok(changed)
}

/// The producer that the node at `index` can be folded into, and its factors and addends.
fn foldable(
    graph: &Graph,
    (producers, consumers): &(Vec<Option<NodeId>>, Vec<Vec<NodeId>>),
    index: usize,
) -> Option<(NodeId, Affine)> {
    let affine = Affine::of(graph, &graph.nodes[index])?;
    let producer = producers[affine.operand.0 as usize]?;
    // A MatMul has no addend: an addition stays behind it.
    let stays = matches!(graph.node(producer).op, Op::MatMul(_)) && affine.only_adds();
    let takes = has_single_use(graph, consumers, affine.operand) && takes_factors(graph, producer);
    (takes && !stays).then_some((producer, affine))
}

/// Folds the factors and addends of the node at `index` into its producer.
fn fold(graph: &mut Graph, index: usize, producer: NodeId, affine: &Affine) -> Result<(), PassError> {
    let Affine { operand, factors } = affine;
    let is_matmul = matches!(graph.node(producer).op, Op::MatMul(_));
    scale_weights(graph, producer, factors)?;
    if is_matmul && affine.only_multiplies() {
        graph.nodes[producer.0 as usize].outputs = graph.nodes.remove(index).outputs;
        return Ok(());
    }
    if is_matmul {
        let offsets = offsets(None, factors);
        let name = graph.nodes[index].name.clone();
        let offsets = add_floats(graph, &format!("{name}_offset"), vec![factors.len()], offsets)?;
        let node = &mut graph.nodes[index];
        (node.op, node.inputs) = (Binary { kind: BinaryKind::Add }.into(), vec![*operand, offsets]);
        return Ok(());
    }
    let bias = graph.node(producer).inputs.get(2).copied();
    let base = bias.map_or(format!("{}_bias", graph.node(producer).name), |id| graph.value(id).name.clone());
    let offsets = offsets(bias.and_then(|id| floats(graph, id)), factors);
    let offsets = add_floats(graph, &base, vec![factors.len()], offsets)?;
    let outputs = graph.nodes.remove(index).outputs;
    let node = &mut graph.nodes[producer.0 as usize];
    node.outputs = outputs;
    node.inputs.truncate(2);
    node.inputs.push(offsets);
    Ok(())
}

/// Whether the node has constant weights whose last axis is the channel.
fn takes_factors(graph: &Graph, node: NodeId) -> bool {
    let node = graph.node(node);
    let constant = |id: &ValueId| floats(graph, *id).is_some();
    let by_channel = |id: &ValueId| constant(id) && graph.shape(*id).len() == 1;
    let weights = node.inputs.get(1);
    match &node.op {
        Op::Conv(_) | Op::ConvTranspose(_) => weights.is_some_and(constant) && node.inputs.get(2).is_none_or(by_channel),
        Op::Gemm(gemm) => {
            *gemm == Gemm::PLAIN
                && weights.is_some_and(constant)
                && node.inputs.get(2).is_none_or(|c| by_channel(c) && columns(graph, node) == graph.shape(*c))
        }
        Op::MatMul(_) => weights.is_some_and(|id| constant(id) && graph.shape(*id).len() == 2),
        _ => false,
    }
}

/// The last size of the result.
fn columns<'a>(graph: &'a Graph, node: &Node) -> &'a [usize] {
    let shape = graph.shape(node.outputs[0]);
    &shape[shape.len() - 1..]
}

/// Multiplies the weights by the factors of their channels.
fn scale_weights(graph: &mut Graph, producer: NodeId, factors: &[[f64; 2]]) -> Result<(), PassError> {
    let weights = graph.node(producer).inputs[1];
    let Some(values) = floats(graph, weights) else { return Ok(()) };
    let scale = |(weight, [factor, _]): (&f32, &[f64; 2])| (f64::from(*weight) * factor) as f32;
    let scaled = values.iter().zip(factors.iter().cycle()).map(scale).collect();
    let (shape, base) = (graph.shape(weights).to_vec(), graph.value(weights).name.clone());
    let scaled = add_floats(graph, &base, shape, scaled)?;
    graph.nodes[producer.0 as usize].inputs[1] = scaled;
    Ok(())
}

/// The addends after normalisation of those before.
fn offsets(bias: Option<&[f32]>, factors: &[[f64; 2]]) -> Vec<f32> {
    let before = |channel: usize| bias.map_or(0.0, |bias| f64::from(bias[channel]));
    let after = |(channel, [factor, offset]): (usize, &[f64; 2])| (before(channel) * factor + offset) as f32;
    factors.iter().enumerate().map(after).collect()
}
