//! Target-specific graph rewrites that run before lowering: [`rewrite`].
//!
//! Passes of `npukit_graph` preserve what a graph computes and help every target. These rewrites
//! also preserve it, in real numbers, but pay off on this accelerator only. They depend on the
//! vector length, the cost of a SIMD pass compared to a product, and the number format. Each has
//! its own file and a line in [`rewrite`]; `tests/passes/tcu` has small graphs before and after
//! each.

mod channel_means;
mod composites;
pub mod lines;
mod normalized_sums;
mod parts;
mod pixel_groups;
#[cfg(test)]
mod texts;
mod thresholds;
mod unread_pixels;
mod wide_means;

pub use wide_means::STAGE as ADDENDS_OF_MEANS;

use npukit_graph::{Graph, Node, NodeId, Op, ValueId};
use npukit_numeric::Tensor;

use super::Order;
use crate::config::Config;

/// Returns an equivalent graph that takes fewer cycles. Nodes and outputs keep their names. An
/// inner value may have another shape: the same elements in the same order, or without pixels that
/// are never read.
///
/// Returns `None` if the graph is invalid, or for the released compiler's order without lookups,
/// since its results depend on every step.
pub fn rewrite(graph: &Graph, config: &Config, order: Order) -> Option<Graph> {
    if order == Order::Upstream && !config.has_lookup() {
        return None;
    }
    graph.validate().ok()?;
    let mut graph = graph.clone();
    composites::rewrite(&mut graph, config);
    if order == Order::Upstream {
        return graph.validate().ok().map(|()| graph);
    }
    unread_pixels::rewrite(&mut graph);
    thresholds::rewrite(&mut graph, config);
    normalized_sums::rewrite(&mut graph, config);
    wide_means::rewrite(&mut graph);
    pixel_groups::rewrite(&mut graph, config);
    graph.validate().ok().map(|()| graph)
}

/// Returns the graph with the nodes that `composites` and `channel_means` decompose; `None` if it
/// is invalid.
pub fn decomposed(graph: &Graph, config: &Config) -> Option<Graph> {
    graph.validate().ok()?;
    let mut graph = graph.clone();
    composites::rewrite(&mut graph, config);
    channel_means::rewrite(&mut graph);
    graph.validate().ok().map(|()| graph)
}

/// Largest accepted [`loss`] when factors are multiplied into weights: one bit of precision.
const MAX_LOSS: f64 = 2.0;

/// Returns the root mean square of `1 / f` over `channels` channels; channels without a factor
/// contribute 0. This is the growth of the weights' rounding errors when the factors are multiplied
/// into them.
fn loss(factors: impl Iterator<Item = f64>, channels: usize) -> f64 {
    let squares: f64 = factors.map(|factor| factor.powi(-2)).sum();
    (squares / channels.max(1) as f64).sqrt()
}

/// Whether a node is an ungrouped convolution with constant weights.
fn is_dense(graph: &Graph, node: &Node) -> bool {
    let constant = |&id: &ValueId| floats(graph, id).is_some();
    matches!(&node.op, Op::Conv(conv) if conv.group == 1) && node.inputs[1..].iter().all(constant)
}

/// Returns the floats of a constant; `None` if it is not a float constant.
fn floats(graph: &Graph, id: ValueId) -> Option<&[f32]> {
    graph.constant(id)?.as_f32()
}

/// Returns the factor and addend of each channel of a normalization with constant parameters.
fn factors(graph: &Graph, node: &Node) -> Option<Vec<[f64; 2]>> {
    let Op::BatchNormalization(op) = &node.op else { return None };
    let &[_, scale, bias, mean, variance] = node.inputs.as_slice() else { return None };
    let [scale, bias] = [floats(graph, scale)?, floats(graph, bias)?];
    let [mean, variance] = [floats(graph, mean)?, floats(graph, variance)?];
    Some(op.factors(scale, bias, mean, variance))
}

/// Adds a constant named after `base`; `data` holds the elements of `shape`.
fn add_floats(graph: &mut Graph, base: &str, shape: Vec<usize>, data: Vec<f32>) -> Option<ValueId> {
    let tensor = Tensor::from_f32(shape, data).ok()?;
    let name = graph.fresh_name(base);
    Some(graph.add_constant(name, tensor))
}

/// Returns the name of value `id`, from which derived names are built.
fn name_of(graph: &Graph, id: ValueId) -> String {
    graph.value(id).name.clone()
}

/// Replaces one operand of a node.
fn set_operand(graph: &mut Graph, node: NodeId, operand: usize, value: ValueId) {
    let inputs = &mut graph.nodes[node.0 as usize].inputs;
    match inputs.get_mut(operand) {
        Some(slot) => *slot = value,
        None => inputs.push(value),
    }
}
