//! Moving of reshapes after a Softmax to before it. A network that ends in a Softmax, with its
//! result reshaped by the exporter, then still ends in one, so that the host can compute it.

use std::ops::Range;

use super::edit::make_node;
use super::{Pass, PassError};
use crate::ir::{Graph, Node, NodeId};
use crate::op::{LogSoftmax, Op, Softmax};

pub(super) const PASS: Pass = Pass {
    name: "softmax-last",
    description: "moves reshapes after a Softmax before it, where its axes stay together",
    run,
};

fn run(graph: &mut Graph) -> Result<bool, PassError> {
    let (producers, consumers) = (graph.producers(), graph.consumers());
    let mut changed = false;
    for index in 0..graph.nodes.len() {
        if let Some((softmax, op)) = softmax_before(graph, &producers, &consumers, index) {
            swap(graph, softmax, index, op)?;
            changed = true;
        }
    }
    Ok(changed)
}

/// Returns the Softmax node that only the Reshape at `index` reads, and its operator after the
/// move.
fn softmax_before(
    graph: &Graph,
    producers: &[Option<NodeId>],
    consumers: &[Vec<NodeId>],
    index: usize,
) -> Option<(usize, Op)> {
    let Node { op: Op::Reshape(reshape), inputs, .. } = &graph.nodes[index] else { return None };
    let between = *inputs.first()?;
    // A node inserted in this run has no entry: the next run continues there.
    let softmax = (*producers.get(between.0 as usize)?)?;
    if consumers[between.0 as usize].len() != 1 || graph.is_output(between) {
        return None;
    }
    let axes = |axis, end| regrouped(graph.shape(between), axis..end, &reshape.shape);
    let op = match &graph.node(softmax).op {
        Op::Softmax(op) => {
            let Range { start: axis, end: axis_end } = axes(op.axis, op.axis_end)?;
            Softmax { axis, axis_end }.into()
        }
        Op::LogSoftmax(op) => {
            let Range { start: axis, end: axis_end } = axes(op.axis, op.axis_end)?;
            LogSoftmax { axis, axis_end }.into()
        }
        _ => return None,
    };
    Some((softmax.0 as usize, op))
}

/// Returns the axes of `to` that hold the same elements as `axes` of `from`.
fn regrouped(from: &[usize], axes: Range<usize>, to: &[usize]) -> Option<Range<usize>> {
    let elements = |sizes: &[usize]| sizes.iter().product::<usize>();
    let (before, within) = (elements(from.get(..axes.start)?), elements(from.get(axes)?));
    if elements(from) == 0 {
        return None;
    }
    // From the last axis, so that preceding axes of size 1 are left out.
    let starts = (0..to.len()).rev().filter(|&start| elements(&to[..start]) == before);
    let end = |start: usize| (start + 1..=to.len()).find(|&end| elements(&to[start..end]) == within);
    starts.filter_map(|start| Some(start..end(start)?)).next()
}

/// Makes the Reshape at `reshape` reshape the operand of the Softmax, and `op` compute the result.
fn swap(graph: &mut Graph, softmax: usize, reshape: usize, op: Op) -> Result<(), PassError> {
    let (before, after) = (graph.nodes[softmax].clone(), graph.nodes[reshape].clone());
    let shaped = make_node(graph, &after.name, after.op, before.inputs)?;
    graph.nodes[reshape] =
        Node { name: before.name, op, inputs: shaped.outputs.clone(), outputs: after.outputs };
    graph.nodes[softmax] = shaped;
    Ok(())
}
