//! Merging of consecutive transpositions.

use super::edit::compose;
use super::{Pass, PassError};
use crate::ir::{Graph, Node};
use crate::op::{Op, Transpose};

pub(super) const PASS: Pass =
    Pass { name: "transpose-fusion", description: "merges two consecutive transpositions", run };

fn run(graph: &mut Graph) -> Result<bool, PassError> {
    let producers = graph.producers();
    let mut changed = false;
    for index in 0..graph.nodes.len() {
        let Node { op: Op::Transpose(second), inputs, .. } = &graph.nodes[index] else { continue };
        let Some(producer) = inputs.first().and_then(|input| producers[input.0 as usize]) else { continue };
        let Node { op: Op::Transpose(first), inputs, .. } = graph.node(producer) else { continue };
        let (perm, inputs) = (compose(&first.perm, &second.perm), inputs.clone());
        let node = &mut graph.nodes[index];
        (node.op, node.inputs) = (Transpose { perm }.into(), inputs);
        changed = true;
    }
    Ok(changed)
}
