//! Computation of what does not depend on the inputs.

use std::sync::Arc;

use npukit_numeric::Tensor;

use super::{Pass, PassError};
use crate::ir::{Graph, Node};
use crate::op::Operator;
use crate::shape::elements;

pub(super) const PASS: Pass = Pass {
    name: "constant-folding",
    description: "replaces nodes whose operands are all constant by their results",
    run,
};

/// Results of more elements than this are only computed ahead when they do not take more room
/// than their operands: a small file must not unfold into gigabytes.
const MOST_ELEMENTS: usize = 1 << 24;

fn run(graph: &mut Graph) -> Result<bool, PassError> {
    let before = graph.nodes.len();
    for node in std::mem::take(&mut graph.nodes) {
        match fold(graph, &node) {
            Some(results) => {
                for (output, result) in node.outputs.iter().zip(results) {
                    graph.values[output.0 as usize].constant = Some(Arc::new(result));
                }
            }
            None => graph.nodes.push(node),
        }
    }
    Ok(graph.nodes.len() != before)
}

/// The results of a node of constants. A node that fails on its constants, as by dividing by
/// zero, is left for the evaluator to complain of.
fn fold(graph: &Graph, node: &Node) -> Option<Vec<Tensor>> {
    let operands: Vec<&Tensor> =
        node.inputs.iter().map(|&id| graph.constant(id).map(Arc::as_ref)).collect::<Option<_>>()?;
    let held: usize = operands.iter().map(|operand| operand.data().len()).sum();
    let sizes = node.outputs.iter().map(|&id| elements(graph.shape(id)).ok());
    let made: usize = sizes.sum::<Option<usize>>()?;
    if made > held.max(MOST_ELEMENTS) {
        return None;
    }
    node.op.eval(&operands).ok()
}
