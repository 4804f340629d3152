//! Path from the machine's last value to an output: shapes that the host changes, and steps that it
//! computes.

use npukit_graph::op::{Unary, UnaryKind};
use npukit_graph::{Op, ValueId};

use crate::lower::builder::{Builder, extent};
use crate::lower::host::HostOutput;
use crate::lower::map::View;
use crate::program::{HostOp, HostStep};

use super::input::moved_ones;

/// Output and the machine's value from which it is computed.
pub struct OutputPath {
    /// Last value that the machine computes.
    pub value: ValueId,
    /// Output; its view is not known yet.
    pub output: HostOutput,
}

/// Follows `output` back through the nodes that the host executes, and marks these nodes as done.
pub fn output_path(builder: &mut Builder, output: ValueId) -> OutputPath {
    let graph = builder.graph;
    let (name, shape) = (graph.value(output).name.clone(), graph.shape(output).to_vec());
    let (mut value, mut nodes, mut steps) = (output, Vec::new(), Vec::new());
    let (mut perm, mut moved): (Vec<usize>, bool) = ((0..shape.len()).collect(), false);
    while let Some(id) = builder
        .fusion
        .readers
        .producer(value)
        .filter(|_| builder.fusion.readers.all(value).len() == usize::from(!nodes.is_empty()))
    {
        let node = builder.node(id);
        let Some(&operand) = node.inputs.first() else { break };
        if graph.is_output(operand) || builder.fusion.readers.producer(operand).is_none() {
            break;
        }
        match &node.op {
            // A reshape that keeps the order of elements and the numbers of rows, columns and
            // channels needs no work.
            Op::Reshape(_) if is_map(&perm, &shape, graph.shape(operand)) => {}
            op @ (Op::Transpose(_) | Op::Reshape(_)) if !moved && graph.shape(value) == shape => {
                let Some(order) = transposition(op, graph.shape(operand), &shape) else { break };
                perm =
                    (0..perm.len()).filter_map(|axis| order.iter().position(|&from| from == axis)).collect();
                moved = true;
            }
            op if !moved && graph.shape(value) == shape => match step(op) {
                Some(op) => {
                    let (node, output) = (node.name.clone(), name.clone());
                    let reason = format!("{} is not supported", op.name());
                    steps.push(HostStep { node, output, reason, op });
                }
                None => break,
            },
            _ => break,
        }
        nodes.push(id);
        value = operand;
    }
    nodes.iter().for_each(|&id| builder.fusion.set_done(id));
    steps.reverse();
    let view = View { size: [1, 1], pieces: Vec::new() };
    OutputPath { value, output: HostOutput { name, view, shape, perm, steps } }
}

/// Returns the permutation of the axes of `from` that `op` applies, if it does nothing else.
fn transposition(op: &Op, from: &[usize], to: &[usize]) -> Option<Vec<usize>> {
    match op {
        Op::Transpose(op) => Some(op.perm.clone()),
        _ => moved_ones(from, to),
    }
}

/// Returns the step with which the host replaces `op`, if it can.
fn step(op: &Op) -> Option<HostOp> {
    match op {
        Op::Softmax(op) => Some(HostOp::Softmax(op.clone())),
        Op::LogSoftmax(op) => Some(HostOp::LogSoftmax(op.clone())),
        Op::Unary(Unary { kind: kind @ (UnaryKind::Sigmoid | UnaryKind::Tanh | UnaryKind::Exp) }) => {
            Some(HostOp::from(*kind))
        }
        _ => None,
    }
}

/// Whether the axes of `shape`, in the order `perm`, have the same rows, columns and channels as
/// `operand`.
fn is_map(perm: &[usize], shape: &[usize], operand: &[usize]) -> bool {
    let sizes: Vec<usize> = perm.iter().filter_map(|&axis| shape.get(axis)).copied().collect();
    match (extent(&sizes), extent(operand)) {
        (Ok(sizes), Ok(operand)) => sizes == operand,
        _ => false,
    }
}
