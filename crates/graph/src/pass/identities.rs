//! Removal of operators that change nothing.

use super::edit::{Bypasses, is_identity};
use super::{Pass, PassError};
use crate::ir::{Graph, Node, NodeId};
use crate::op::{Coordinates, Op};

pub(super) const PASS: Pass = Pass {
    name: "identities",
    description: "removes operators that give their operand unchanged, and reshapes of reshapes",
    run,
};

fn run(graph: &mut Graph) -> Result<bool, PassError> {
    let merged = merge_reshapes(graph);
    let mut bypasses = Bypasses::new(graph);
    for index in (0..graph.nodes.len()).rev() {
        if is_unchanged(graph, &graph.nodes[index]) {
            let operand = graph.nodes[index].inputs[0];
            bypasses.take_out(graph, index, operand);
        }
    }
    Ok(bypasses.apply(graph, Vec::new()) || merged)
}

/// Whether the node's only result equals its first operand.
fn is_unchanged(graph: &Graph, node: &Node) -> bool {
    let ([operand, ..], [result]) = (node.inputs.as_slice(), node.outputs.as_slice()) else { return false };
    let (from, to) = (&graph.value(*operand).info, &graph.value(*result).info);
    if from != to {
        return false;
    }
    match &node.op {
        // One result of the same shape: nothing is joined to it, or taken off it.
        Op::Reshape(_) | Op::Cast(_) | Op::Tile(_) | Op::Concat(_) | Op::Split(_) => true,
        Op::Transpose(transpose) => is_identity(&transpose.perm),
        // Cropping at one end and growing at the other keeps the shape, not the elements.
        Op::Pad(pad) => pad.pads.iter().all(|pads| *pads == [0, 0]),
        Op::Clip(clip) => clip.min == f32::NEG_INFINITY && clip.max == f32::INFINITY,
        Op::Slice(slice) => slice.ranges.iter().all(|range| range.step == 1 || range.length == 1),
        Op::Resize(resize) => resize.scales == [1.0, 1.0] && keeps_indices(resize.coordinates),
        _ => false,
    }
}

/// Whether at scale 1 the rule maps an index to itself.
fn keeps_indices(coordinates: Coordinates) -> bool {
    !matches!(coordinates, Coordinates::TfHalfPixelForNn | Coordinates::TfCropAndResize(_))
}

/// Reshapes of reshapes take the first one's operand.
fn merge_reshapes(graph: &mut Graph) -> bool {
    let producers = graph.producers();
    let mut changed = false;
    for index in 0..graph.nodes.len() {
        changed |= merge_reshape(graph, &producers, index);
    }
    changed
}

/// A reshape of a reshape takes the first one's operand. Values made since `producers` were listed have none.
pub(super) fn merge_reshape(graph: &mut Graph, producers: &[Option<NodeId>], index: usize) -> bool {
    let Node { op: Op::Reshape(_), inputs, .. } = &graph.nodes[index] else { return false };
    let producer = inputs.first().and_then(|input| *producers.get(input.0 as usize)?);
    let Some(Node { op: Op::Reshape(_), inputs, .. }) = producer.map(|producer| graph.node(producer)) else {
        return false;
    };
    graph.nodes[index].inputs = inputs.clone();
    true
}
