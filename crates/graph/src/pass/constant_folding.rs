//! Evaluation of nodes that do not depend on the inputs.

use std::sync::Arc;

use npukit_numeric::Tensor;

use super::{Pass, PassError};
use crate::ir::{Graph, Node};
use crate::op::{Op, Operator};
use crate::shape::elements;
use crate::work::operations;

pub(super) const PASS: Pass = Pass {
    name: "constant-folding",
    description: "replaces nodes whose operands are all constant by their results",
    run,
};

/// Maximum number of elements of the graph's constants: a small file must not expand without limit.
/// The largest networks in use have half that number of weights.
const ROOM: usize = 1 << 28;

/// Maximum number of operations of folding: the product of large constants is left to the
/// evaluator.
const OPERATIONS: u64 = 1 << 33;

fn run(graph: &mut Graph) -> Result<bool, PassError> {
    let held = graph.values.iter().filter_map(|value| value.constant.as_ref());
    let held: usize = held.map(|constant| constant.data().len()).sum();
    let (before, mut room) =
        (graph.nodes.len(), Room { elements: ROOM.saturating_sub(held), operations: OPERATIONS });
    for node in std::mem::take(&mut graph.nodes) {
        match fold(graph, &node, &mut room) {
            Some(results) => {
                graph.state_results(&node.op, &node.inputs, &node.outputs);
                for (output, result) in node.outputs.iter().zip(results) {
                    graph.values[output.0 as usize].constant = Some(Arc::new(result));
                }
            }
            None => graph.nodes.push(node),
        }
    }
    Ok(graph.nodes.len() != before)
}

/// Remaining budget of folding.
struct Room {
    elements: usize,
    operations: u64,
}

/// Returns the results of a node of constants. A node that fails, for example by a division by
/// zero, is left to the evaluator, which reports the error. So is one that exceeds the budget.
fn fold(graph: &Graph, node: &Node, room: &mut Room) -> Option<Vec<Tensor>> {
    // The number of iterations is known only after evaluation.
    if matches!(node.op, Op::Loop(_)) {
        return None;
    }
    let operands: Vec<&Tensor> =
        node.inputs.iter().map(|&id| graph.constant(id).map(Arc::as_ref)).collect::<Option<_>>()?;
    let held: usize = operands.iter().map(|operand| operand.data().len()).sum();
    let sizes = node.outputs.iter().map(|&id| elements(graph.shape(id)).ok());
    let made: usize = sizes.sum::<Option<usize>>()?;
    let left = Room {
        elements: room.elements.checked_sub(made.saturating_sub(held))?,
        operations: room.operations.checked_sub(operations(graph, node))?,
    };
    let results = node.op.eval(&operands).ok()?;
    *room = left;
    Some(results)
}
