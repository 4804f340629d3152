//! Reductions after a transposition: they reduce the axes of its operand instead.
//!
//! `x.mean([2, 3])` of an image, as exporters write it, comes after the transposition that an image
//! operator needs.

use super::{Pass, PassError};
use crate::ir::{Graph, NodeId};
use crate::op::Op;

pub(super) const PASS: Pass = Pass {
    name: "reduce-crossing",
    description: "moves reductions that drop their axes before a preceding transposition",
    run,
};

fn run(graph: &mut Graph) -> Result<bool, PassError> {
    let producers = graph.producers();
    let mut changed = false;
    for id in graph.node_ids() {
        let Some(&operand) = graph.node(id).inputs.first() else { continue };
        let Some(producer) = producers[operand.0 as usize].map(|node| graph.node(node)) else { continue };
        let (Op::Transpose(transpose), &[from]) = (&producer.op, producer.inputs.as_slice()) else {
            continue;
        };
        let Some(axes) = crossed(graph, id, &transpose.perm) else { continue };
        let node = &mut graph.nodes[id.0 as usize];
        if let Op::Reduce(reduce) = &mut node.op {
            (reduce.axes, node.inputs) = (axes, vec![from]);
            changed = true;
        }
    }
    Ok(changed)
}

/// Whether the node can use the operand of a transposition by `perm` instead of its result.
pub(super) fn is_absorbed(graph: &Graph, id: NodeId, perm: &[usize]) -> bool {
    crossed(graph, id, perm).is_some()
}

/// Returns the axes that a reduction after a transposition by `perm` must reduce in the
/// transposition's operand. `None` if the remaining axes have another order there.
fn crossed(graph: &Graph, id: NodeId, perm: &[usize]) -> Option<Vec<usize>> {
    let Op::Reduce(reduce) = &graph.node(id).op else { return None };
    let is_left = |axis: &usize| !reduce.axes.contains(axis);
    let is_sorted = (0..perm.len()).filter(is_left).map(|axis| perm[axis]).is_sorted();
    if reduce.keep_dims || reduce.axes.is_empty() || !is_sorted {
        return None;
    }
    let mut axes: Vec<usize> =
        reduce.axes.iter().map(|&axis| perm.get(axis).copied()).collect::<Option<_>>()?;
    axes.sort_unstable();
    Some(axes)
}
