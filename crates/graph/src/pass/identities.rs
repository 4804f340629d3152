//! Removal of operators that change nothing.

use super::edit::{Bypasses, floats, is_identity};
use super::{Pass, PassError};
use crate::ir::{Graph, Node, NodeId, ValueId};
use crate::op::{BinaryKind, Coordinates, Op};

pub(super) const PASS: Pass = Pass {
    name: "identities",
    description: "removes operators that return their operand unchanged, and reshapes of reshapes",
    run,
};

fn run(graph: &mut Graph) -> Result<bool, PassError> {
    let merged = merge_reshapes(graph);
    let mut bypasses = Bypasses::new(graph);
    for index in (0..graph.nodes.len()).rev() {
        if let Some(operand) = unchanged(graph, &graph.nodes[index]) {
            bypasses.take_out(graph, index, operand);
        }
    }
    Ok(bypasses.apply(graph, Vec::new()) || merged)
}

/// Returns the operand that the node's only result equals.
fn unchanged(graph: &Graph, node: &Node) -> Option<ValueId> {
    let &[result] = node.outputs.as_slice() else { return None };
    let operand = match &node.op {
        Op::Binary(binary) => unbounded(graph, node, binary.kind)?,
        _ => *node.inputs.first().filter(|_| moves_nothing(node))?,
    };
    (graph.value(operand).info == graph.value(result).info).then_some(operand)
}

/// Returns the other operand of a Max with constants of -inf, or of a Min with constants of +inf.
fn unbounded(graph: &Graph, node: &Node, kind: BinaryKind) -> Option<ValueId> {
    let bound = match kind {
        BinaryKind::Max => f32::NEG_INFINITY,
        BinaryKind::Min => f32::INFINITY,
        _ => return None,
    };
    let &[left, right] = node.inputs.as_slice() else { return None };
    let is_bound = |id| floats(graph, id).is_some_and(|values| values.iter().all(|&x| x == bound));
    match [left, right].map(is_bound) {
        [false, true] => Some(left),
        [true, false] => Some(right),
        _ => None,
    }
}

/// Whether a node, whose result has its first operand's shape and type, returns that operand.
fn moves_nothing(node: &Node) -> bool {
    match &node.op {
        // One result of the same shape: nothing is appended or cut off.
        Op::Reshape(_) | Op::Cast(_) | Op::Tile(_) | Op::Concat(_) | Op::Split(_) => true,
        Op::Transpose(transpose) => is_identity(&transpose.perm),
        // Cropping at one end and padding at the other keeps the shape, but not the elements.
        Op::Pad(pad) => pad.pads.iter().all(|pads| *pads == [0, 0]),
        Op::Clip(clip) => clip.min == f32::NEG_INFINITY && clip.max == f32::INFINITY,
        Op::Slice(slice) => slice.ranges.iter().all(|range| range.step == 1 || range.length == 1),
        Op::Resize(resize) => resize.scales == [1.0, 1.0] && keeps_indices(resize.coordinates),
        _ => false,
    }
}

/// Whether the rule maps an index to itself at scale 1.
fn keeps_indices(coordinates: Coordinates) -> bool {
    !matches!(coordinates, Coordinates::TfHalfPixelForNn | Coordinates::TfCropAndResize(_))
}

/// Makes reshapes of reshapes use the operand of the first one.
fn merge_reshapes(graph: &mut Graph) -> bool {
    let producers = graph.producers();
    let mut changed = false;
    for index in 0..graph.nodes.len() {
        changed |= merge_reshape(graph, &producers, index);
    }
    changed
}

/// Makes a reshape of a reshape use the operand of the first one. Values added since `producers`
/// was listed have no producer there.
pub(super) fn merge_reshape(graph: &mut Graph, producers: &[Option<NodeId>], index: usize) -> bool {
    let Node { op: Op::Reshape(_), inputs, .. } = &graph.nodes[index] else { return false };
    let producer = inputs.first().and_then(|input| *producers.get(input.0 as usize)?);
    let Some(Node { op: Op::Reshape(_), inputs, .. }) = producer.map(|producer| graph.node(producer)) else {
        return false;
    };
    graph.nodes[index].inputs = inputs.clone();
    true
}
