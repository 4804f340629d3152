//! Cost of an evaluation, known before it begins: [`Work`].
//!
//! A small file can require more than any machine has: a few operators that each repeat their
//! operand, or windows over padding. Check the cost before evaluating untrusted files.

use npukit_numeric::TensorData;

use crate::eval::last_uses;
use crate::ir::{Graph, Node, NodeId, ValueId};
use crate::macs;
use crate::op::{Loop, Op, RoiAlign, Window};

/// Operations and memory of an evaluation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Work {
    /// Number of computed elements plus, for products and windows, the summed terms.
    pub operations: u64,
    /// Node with the most operations; `None` for an empty graph.
    pub costliest: Option<NodeId>,
    /// Peak number of bytes of the live results.
    pub peak_bytes: u64,
}

impl Work {
    /// Returns the cost of evaluating a valid graph; numbers saturate.
    pub fn of(graph: &Graph) -> Self {
        let by_node: Vec<u64> = graph.nodes.iter().map(|node| operations(graph, node)).collect();
        let costliest = graph.node_ids().zip(&by_node).max_by_key(|&(_, operations)| operations);
        Self {
            operations: by_node.iter().fold(0, |sum, &operations| sum.saturating_add(operations)),
            costliest: costliest.map(|(id, _)| id),
            peak_bytes: peak_bytes(graph),
        }
    }
}

/// Returns the operations of one node.
pub(crate) fn operations(graph: &Graph, node: &Node) -> u64 {
    let values = node.inputs.iter().chain(&node.outputs);
    let moved = values.fold(0u64, |sum, &id| sum.saturating_add(elements(graph.shape(id))));
    // Default: a node without operands, such as a random one, reads no elements.
    let shape = |ids: &[ValueId]| ids.first().map(|&id| graph.shape(id)).unwrap_or_default();
    let (x, y) = (shape(&node.inputs), shape(&node.outputs));
    let terms = match &node.op {
        Op::MaxPool(pool) => taps(&pool.window, x, y),
        Op::AveragePool(pool) => taps(&pool.window, x, y),
        Op::Lrn(lrn) => elements(y).saturating_mul(lrn.size.min(x[x.len() - 1]) as u64),
        Op::Det(_) => elements(x).saturating_mul(x[x.len() - 1] as u64),
        Op::GridSample(sample) => elements(y).saturating_mul(sample.most_taps(x.len() - 2)),
        // The number of samples depends on the region sizes: assume one per element of the image.
        Op::RoiAlign(RoiAlign { sampling_ratio: 0, .. }) => elements(&[y[0], x[1], x[2], x[3]]),
        Op::Loop(looped) => rounds(graph, node, looped).saturating_mul(round(&looped.body.0)),
        Op::RoiAlign(align) => elements(y).saturating_mul((4 * align.sampling_ratio.pow(2)) as u64),
        _ => macs::of_node(graph, node),
    };
    moved.saturating_add(terms)
}

/// Overhead of a node in operations: memory allocation and looking up its operands.
const OVERHEAD: u64 = 1 << 8;

/// Returns the operations of one iteration of a loop.
fn round(body: &Graph) -> u64 {
    let one = |node: &Node| operations(body, node).saturating_add(OVERHEAD);
    body.nodes.iter().fold(OVERHEAD, |sum, node| sum.saturating_add(one(node)))
}

/// Returns the number of iterations of a loop with a constant condition. A loop that ends by itself
/// counts as one, as its number is unknown.
fn rounds(graph: &Graph, node: &Node, looped: &Loop) -> u64 {
    let body: &Graph = &looped.body.0;
    let is_true = |id: ValueId| {
        let constant = body.constant(id).map(|constant| constant.data());
        matches!(constant, Some(TensorData::Bool(values)) if values.first() == Some(&true))
    };
    let condition = body.outputs.first();
    if condition != body.inputs.get(1) && !condition.is_some_and(|&id| is_true(id)) {
        return 1;
    }
    let given = node.inputs.first().and_then(|&id| graph.constant(id));
    let given = given.and_then(|constant| match constant.data() {
        TensorData::I64(rounds) => u64::try_from(*rounds.first()?).ok(),
        _ => None,
    });
    // Default: a computed number is unknown, and there may be one iteration.
    looped.stacked.map(|rounds| rounds as u64).or(given).unwrap_or(1)
}

/// Returns the elements of `[n, h, w, c]` under all windows of the result.
fn taps(window: &Window, x: &[usize], y: &[usize]) -> u64 {
    let (&[_, height, width, _], &[images, rows, columns, channels]) = (x, y) else { return 0 };
    let along = |axis: usize, count: usize, size: usize| -> u64 {
        (0..count).map(|index| window.span(axis, index, size).taps.len() as u64).sum()
    };
    let positions = along(0, rows, height).saturating_mul(along(1, columns, width));
    positions.saturating_mul(elements(&[images, channels]))
}

/// Returns the bytes of all results that depend on constants only, and the node with the largest
/// share.
///
/// Passes compute such results and keep them; the sizes are known before.
pub fn bytes_of_constants(graph: &Graph) -> (u64, Option<NodeId>) {
    let mut is_constant: Vec<bool> = graph.values.iter().map(|value| value.constant.is_some()).collect();
    let (mut sum, mut most, mut largest) = (0u64, 0, None);
    for (id, node) in graph.node_ids().zip(&graph.nodes) {
        if !node.inputs.iter().all(|input| is_constant[input.0 as usize]) {
            continue;
        }
        node.outputs.iter().for_each(|output| is_constant[output.0 as usize] = true);
        let made = node.outputs.iter().fold(0u64, |sum, &id| sum.saturating_add(bytes(graph, id)));
        sum = sum.saturating_add(made);
        if made > most {
            (most, largest) = (made, Some(id));
        }
    }
    (sum, largest)
}

/// Returns the bytes of a value as stored.
fn bytes(graph: &Graph, id: ValueId) -> u64 {
    let element = graph.value(id).info.element.storage().element();
    elements(graph.shape(id)).saturating_mul(element.bits() as u64 / 8)
}

/// Returns the peak bytes of live results, each freed after its last use.
fn peak_bytes(graph: &Graph) -> u64 {
    let bytes = |id| bytes(graph, id);
    let last_use = last_uses(graph);
    let mut given = vec![false; graph.values.len()];
    graph.inputs.iter().for_each(|input| given[input.0 as usize] = true);
    let (mut alive, mut peak) = (0u64, 0u64);
    for (index, node) in graph.nodes.iter().enumerate() {
        let made = node.outputs.iter().fold(0u64, |sum, &id| sum.saturating_add(bytes(id)));
        alive = alive.saturating_add(made);
        let within = if let Op::Loop(looped) = &node.op { peak_bytes(&looped.body.0) } else { 0 };
        peak = peak.max(alive.saturating_add(within));
        let mut used = [&node.inputs[..], &node.outputs[..]].concat();
        used.sort_unstable();
        used.dedup();
        let ends = |id: &ValueId| {
            let computed = graph.constant(*id).is_none() && !given[id.0 as usize];
            computed && last_use[id.0 as usize].is_none_or(|last| last <= index)
        };
        let gone = used.into_iter().filter(ends).fold(0u64, |sum, id| sum.saturating_add(bytes(id)));
        alive = alive.saturating_sub(gone);
    }
    peak
}

fn elements(shape: &[usize]) -> u64 {
    shape.iter().fold(1, |product, &size| product.saturating_mul(size as u64))
}
