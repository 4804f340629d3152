//! Reshapes that only add or remove axes of size 1, after operators that do not care.
//!
//! One-dimensional convolutions are images of one row between such reshapes: after the operators
//! that follow, they meet the reshape of the next convolution and go.

use super::edit::{insert_nodes, make_node};
use super::identities::merge_reshape;
use super::{Pass, PassError};
use crate::ir::{Graph, Node, NodeId, ValueId};
use crate::op::{Op, Operator, Reshape};

pub(super) const PASS: Pass = Pass {
    name: "reshape-sinking",
    description: "moves reshapes that only add or remove axes of size 1 after operators that do not care",
    run,
};

fn run(graph: &mut Graph) -> Result<bool, PassError> {
    if !graph.nodes.iter().any(|node| matches!(node.op, Op::Reshape(_))) {
        return Ok(false);
    }
    let (producers, consumers) = (graph.producers(), graph.consumers());
    let mut new = Vec::new();
    for index in 0..graph.nodes.len() {
        // A reshape that went after the node before may have met the next one.
        merge_reshape(graph, &producers, index);
        if let Some(inputs) = operands_before(graph, &producers, &consumers, index) {
            new.push((index, sink(graph, index, inputs)?));
        }
    }
    let changed = !new.is_empty();
    insert_nodes(graph, new);
    Ok(changed)
}

/// The operands of the node at `index` with the reshapes before them left out, when they can be.
fn operands_before(
    graph: &Graph,
    producers: &[Option<NodeId>],
    consumers: &[Vec<NodeId>],
    index: usize,
) -> Option<Vec<ValueId>> {
    let node = &graph.nodes[index];
    let indifferent = node.op.is_pointwise() || matches!(node.op, Op::BatchNormalization(_) | Op::Binary(_));
    let &[output] = node.outputs.as_slice() else { return None };
    if !indifferent {
        return None;
    }
    let to = graph.shape(output);
    let source = |&id: &ValueId| {
        let Node { op: Op::Reshape(_), inputs, .. } = graph.node(producers[id.0 as usize]?) else {
            return None;
        };
        let own =
            consumers[id.0 as usize].iter().all(|user| user.0 as usize == index) && !graph.is_output(id);
        (own && changes_ones_only(graph.shape(inputs[0]), to)).then_some(inputs[0])
    };
    let from = graph.shape(node.inputs.iter().find_map(source)?);
    if matches!(node.op, Op::BatchNormalization(_)) && from.last() != to.last() {
        return None;
    }
    let before = |id: &ValueId| match source(id) {
        Some(operand) => (graph.shape(operand) == from).then_some(operand),
        None => (graph.constant(*id).is_some() && is_last_axis(graph.shape(*id), from, to)).then_some(*id),
    };
    node.inputs.iter().map(before).collect()
}

/// Whether the shapes differ in axes of size 1 alone.
fn changes_ones_only(from: &[usize], to: &[usize]) -> bool {
    let sizes = |shape: &[usize]| -> Vec<usize> { shape.iter().copied().filter(|&size| size != 1).collect() };
    from != to && sizes(from) == sizes(to)
}

/// Whether an operand of `shape` means the same beside `from` as beside `to`: one element, or one
/// for each of their last axis.
fn is_last_axis(shape: &[usize], from: &[usize], to: &[usize]) -> bool {
    match *shape {
        [] | [1] => true,
        [size] => from.last() == Some(&size) && to.last() == Some(&size),
        _ => false,
    }
}

/// Makes the node at `index` a reshape of what it did with `inputs`; gives the node that does this, to be placed
/// before it.
fn sink(graph: &mut Graph, index: usize, inputs: Vec<ValueId>) -> Result<Node, PassError> {
    let node = graph.nodes[index].clone();
    let shape = graph.shape(node.outputs[0]).to_vec();
    let new = make_node(graph, &node.name, node.op, inputs)?;
    let reshaped = Node {
        name: node.name,
        op: Reshape { shape }.into(),
        inputs: new.outputs.clone(),
        outputs: node.outputs,
    };
    graph.nodes[index] = reshaped;
    Ok(new)
}
