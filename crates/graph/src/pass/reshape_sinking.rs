//! Moving of reshapes that only add or remove axes of size 1, to after operators that allow it.
//!
//! One-dimensional convolutions are images of one row between such reshapes. After the operators
//! that follow, these reshapes meet the reshape of the next convolution and cancel.

use super::edit::{insert_nodes, make_node};
use super::identities::merge_reshape;
use super::{Pass, PassError};
use crate::ir::{Graph, Node, NodeId, ValueId};
use crate::op::{Op, Operator, Reshape};

pub(super) const PASS: Pass = Pass {
    name: "reshape-sinking",
    description: "moves reshapes that only add or remove axes of size 1 after operators that do not depend on them",
    run,
};

fn run(graph: &mut Graph) -> Result<bool, PassError> {
    if !graph.nodes.iter().any(|node| matches!(node.op, Op::Reshape(_))) {
        return Ok(false);
    }
    let (producers, consumers) = (graph.producers(), graph.consumers());
    let mut new = Vec::new();
    for index in 0..graph.nodes.len() {
        // A reshape that moved after the previous node may be next to another reshape now.
        merge_reshape(graph, &producers, index);
        if let Some(inputs) = operands_before(graph, &producers, &consumers, index) {
            new.push((index, sink(graph, index, inputs)?));
        }
    }
    let changed = !new.is_empty();
    insert_nodes(graph, new);
    Ok(changed)
}

/// Returns the operands of the node at `index` without the reshapes before them, if they can be
/// moved.
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

/// Whether the shapes differ only in axes of size 1.
fn changes_ones_only(from: &[usize], to: &[usize]) -> bool {
    let sizes = |shape: &[usize]| -> Vec<usize> { shape.iter().copied().filter(|&size| size != 1).collect() };
    from != to && sizes(from) == sizes(to)
}

/// Whether an operand of `shape` broadcasts to `from` as it does to `to`: it has one element, or
/// one per element of the last axis.
fn is_last_axis(shape: &[usize], from: &[usize], to: &[usize]) -> bool {
    match *shape {
        [] | [1] => true,
        [size] => from.last() == Some(&size) && to.last() == Some(&size),
        _ => false,
    }
}

/// Turns the node at `index` into a reshape of its former result, computed on `inputs`. Returns the
/// node that computes it, to be inserted before.
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
