//! Transpositions that leave the elements in order.
//!
//! This is the last pass: unlike a transposition, a reshape no longer moves through other
//! operators.

use super::edit::keeps_order;
use super::{Pass, PassError};
use crate::ir::Graph;
use crate::op::{Op, Reshape};

pub(super) const PASS: Pass = Pass {
    name: "trivial-transposes",
    description: "turns transpositions that only move axes of size 1 into reshapes",
    run,
};

fn run(graph: &mut Graph) -> Result<bool, PassError> {
    let mut changed = false;
    for index in 0..graph.nodes.len() {
        let node = &graph.nodes[index];
        let Op::Transpose(transpose) = &node.op else { continue };
        if keeps_order(&transpose.perm, graph.shape(node.inputs[0])) {
            let shape = graph.shape(node.outputs[0]).to_vec();
            graph.nodes[index].op = Reshape { shape }.into();
            changed = true;
        }
    }
    Ok(changed)
}
