//! Folding of batch normalization, as one node or as arithmetic, into the weights before it.

use super::affine::Affine;
use super::edit::{add_floats, constant, floats, has_single_use, rearrange};
use super::{Pass, PassError};
use crate::ir::{Graph, Node, NodeId, ValueId};
use crate::op::{Binary, BinaryKind, Gemm, Op};

pub(super) const PASS: Pass = Pass {
    name: "batch-norm-folding",
    description: "folds per-channel factors and addends (batch normalization, Mul, Add and others) into the constant weights of the preceding Conv, ConvTranspose, Gemm or MatMul",
    run,
};

fn run(graph: &mut Graph) -> Result<bool, PassError> {
    let mut links = Links {
        producers: graph.producers(),
        consumers: graph.consumers(),
        values: graph.values.len(),
        gone: vec![false; graph.nodes.len()],
    };
    let mut changed = false;
    for index in 0..graph.nodes.len() {
        if let Some((producer, affine)) = foldable(graph, &links, index) {
            links.fold(graph, index, producer, &affine)?;
            changed = true;
        }
    }
    rearrange(graph, Vec::new(), &links.gone);
    Ok(changed)
}

/// Producers and users of values while nodes are folded one after the other; nodes keep their
/// indices meanwhile.
struct Links {
    producers: Vec<Option<NodeId>>,
    consumers: Vec<Vec<NodeId>>,
    /// Number of values before the pass; values added since have one user.
    values: usize,
    /// Whether each node was folded.
    gone: Vec<bool>,
}

/// Returns the producer that the node at `index` can be folded into, and its factors and addends.
fn foldable(graph: &Graph, links: &Links, index: usize) -> Option<(NodeId, Affine)> {
    let affine = Affine::of(graph, &graph.nodes[index])?;
    let producer = links.producers[affine.operand.0 as usize]?;
    // A MatMul has no addend: an addition stays after it.
    let stays = matches!(graph.node(producer).op, Op::MatMul(_)) && affine.only_adds();
    let takes = has_single_use(graph, &links.consumers, affine.operand) && takes_factors(graph, producer);
    (takes && !stays).then_some((producer, affine))
}

impl Links {
    /// Folds the factors and addends of the node at `index` into its producer.
    fn fold(
        &mut self,
        graph: &mut Graph,
        index: usize,
        producer: NodeId,
        affine: &Affine,
    ) -> Result<(), PassError> {
        let Affine { operand, factors } = affine;
        let is_matmul = matches!(graph.node(producer).op, Op::MatMul(_));
        self.scale_weights(graph, producer, factors)?;
        if is_matmul && !affine.only_multiplies() {
            let offsets = offsets(None, factors);
            let name = graph.nodes[index].name.clone();
            let offsets = add_floats(graph, &format!("{name}_offset"), vec![factors.len()], offsets)?;
            let node = &mut graph.nodes[index];
            (node.op, node.inputs) = (Binary { kind: BinaryKind::Add }.into(), vec![*operand, offsets]);
            return Ok(());
        }
        if !is_matmul {
            self.add_offsets(graph, producer, factors)?;
        }
        self.gone[index] = true;
        let outputs = graph.nodes[index].outputs.clone();
        outputs.iter().for_each(|output| self.producers[output.0 as usize] = Some(producer));
        graph.nodes[producer.0 as usize].outputs = outputs;
        Ok(())
    }

    /// Multiplies the weights by the factors of their channels.
    fn scale_weights(
        &self,
        graph: &mut Graph,
        producer: NodeId,
        factors: &[[f64; 2]],
    ) -> Result<(), PassError> {
        let weights = graph.node(producer).inputs[1];
        let Some(values) = floats(graph, weights) else { return Ok(()) };
        let scale = |(weight, [factor, _]): (&f32, &[f64; 2])| (f64::from(*weight) * factor) as f32;
        let scaled = values.iter().zip(factors.iter().cycle()).map(scale).collect();
        self.replace(graph, producer, 1, scaled)
    }

    /// Applies the normalization to the addend and adds the offsets.
    fn add_offsets(
        &self,
        graph: &mut Graph,
        producer: NodeId,
        factors: &[[f64; 2]],
    ) -> Result<(), PassError> {
        let bias = graph.node(producer).inputs.get(2).copied();
        let offsets = offsets(bias.and_then(|id| floats(graph, id)), factors);
        if bias.is_some() {
            return self.replace(graph, producer, 2, offsets);
        }
        let base = format!("{}_bias", graph.node(producer).name);
        let offsets = add_floats(graph, &base, vec![factors.len()], offsets)?;
        graph.nodes[producer.0 as usize].inputs.push(offsets);
        Ok(())
    }

    /// Replaces a constant operand of a node. A constant made by this pass is freed at once, so
    /// that repeated folding into the same node does not use more memory.
    fn replace(
        &self,
        graph: &mut Graph,
        node: NodeId,
        place: usize,
        data: Vec<f32>,
    ) -> Result<(), PassError> {
        let old = graph.node(node).inputs[place];
        let (shape, base) = (graph.shape(old).to_vec(), graph.value(old).name.clone());
        if old.0 as usize >= self.values {
            graph.values[old.0 as usize].constant = Some(constant(&base, shape, data)?.into());
            return Ok(());
        }
        let new = add_floats(graph, &base, shape, data)?;
        graph.nodes[node.0 as usize].inputs[place] = new;
        Ok(())
    }
}

/// Whether the node has constant weights whose last axis is the channel.
fn takes_factors(graph: &Graph, node: NodeId) -> bool {
    let node = graph.node(node);
    let constant = |id: &ValueId| floats(graph, *id).is_some();
    let by_channel = |id: &ValueId| constant(id) && graph.shape(*id).len() == 1;
    let weights = node.inputs.get(1);
    match &node.op {
        Op::Conv(_) | Op::ConvTranspose(_) => {
            weights.is_some_and(constant) && node.inputs.get(2).is_none_or(by_channel)
        }
        Op::Gemm(gemm) => {
            *gemm == Gemm::PLAIN
                && weights.is_some_and(constant)
                && node.inputs.get(2).is_none_or(|c| by_channel(c) && columns(graph, node) == graph.shape(*c))
        }
        Op::MatMul(_) => weights.is_some_and(|id| constant(id) && graph.shape(*id).len() == 2),
        _ => false,
    }
}

/// Returns the last size of the result.
fn columns<'a>(graph: &'a Graph, node: &Node) -> &'a [usize] {
    let shape = graph.shape(node.outputs[0]);
    &shape[shape.len() - 1..]
}

/// Returns the addends: the existing bias scaled by the factors, plus the offsets.
fn offsets(bias: Option<&[f32]>, factors: &[[f64; 2]]) -> Vec<f32> {
    let before = |channel: usize| bias.map_or(0.0, |bias| f64::from(bias[channel]));
    let after = |(channel, [factor, offset]): (usize, &[f64; 2])| (before(channel) * factor + offset) as f32;
    factors.iter().enumerate().map(after).collect()
}
