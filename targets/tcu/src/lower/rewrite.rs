//! Rewrites of the graph for the array, before it is lowered: [`rewrite`].
//!
//! Passes of `npukit_graph` keep what a graph computes and are good for every target. These keep it
//! too, in real numbers, but pay on this machine only: they depend on the vectors' length, on what a SIMD
//! pass costs beside a product, and on the number format. One file each, and a line in [`rewrite`];
//! `tests/passes/tcu` has small graphs before and after each.

mod channel_means;
mod composites;
pub mod lines;
mod normalised_sums;
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

/// A graph that computes the same and takes fewer cycles. Nodes and outputs keep their names; a value
/// inside may have another shape, of as many elements in the same order or without pixels that nobody reads.
/// `None` for a graph that is not valid, and for upstream's order without lookups (which upstream does not
/// have): its results depend on every step.
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
    normalised_sums::rewrite(&mut graph, config);
    wide_means::rewrite(&mut graph);
    pixel_groups::rewrite(&mut graph, config);
    graph.validate().ok().map(|()| graph)
}

/// The graph with what `composites` and `channel_means` take apart; none for one that is not valid.
pub fn taken_apart(graph: &Graph, config: &Config) -> Option<Graph> {
    graph.validate().ok()?;
    let mut graph = graph.clone();
    composites::rewrite(&mut graph, config);
    channel_means::rewrite(&mut graph);
    graph.validate().ok().map(|()| graph)
}

/// The largest [`loss`] that is accepted when factors are multiplied into weights: one bit of precision.
const MAX_LOSS: f64 = 2.0;

/// Root mean square of `1 / f` over `channels` channels, of which those without a factor count nothing: how
/// many times larger the rounding errors of weights become when the factors are multiplied into them.
fn loss(factors: impl Iterator<Item = f64>, channels: usize) -> f64 {
    let squares: f64 = factors.map(|factor| factor.powi(-2)).sum();
    (squares / channels.max(1) as f64).sqrt()
}

/// Whether a node is a convolution by constants that is not divided into groups.
fn is_dense(graph: &Graph, node: &Node) -> bool {
    let constant = |&id: &ValueId| floats(graph, id).is_some();
    matches!(&node.op, Op::Conv(conv) if conv.group == 1) && node.inputs[1..].iter().all(constant)
}

/// The floats of a constant.
fn floats(graph: &Graph, id: ValueId) -> Option<&[f32]> {
    graph.constant(id)?.as_f32()
}

/// Factor and addend of each channel of a normalisation by constants.
fn factors(graph: &Graph, node: &Node) -> Option<Vec<[f64; 2]>> {
    let Op::BatchNormalization(op) = &node.op else { return None };
    let &[_, scale, bias, mean, variance] = node.inputs.as_slice() else { return None };
    let [scale, bias] = [floats(graph, scale)?, floats(graph, bias)?];
    let [mean, variance] = [floats(graph, mean)?, floats(graph, variance)?];
    Some(op.factors(scale, bias, mean, variance))
}

/// Adds a constant, called `base` or alike; `data` has the elements of `shape`.
fn add_floats(graph: &mut Graph, base: &str, shape: Vec<usize>, data: Vec<f32>) -> Option<ValueId> {
    let tensor = Tensor::from_f32(shape, data).ok()?;
    let name = graph.fresh_name(base);
    Some(graph.add_constant(name, tensor))
}

/// The name of the value `id`, for what is made from it.
fn name_of(graph: &Graph, id: ValueId) -> String {
    graph.value(id).name.clone()
}

/// Puts other operands into a node.
fn set_operand(graph: &mut Graph, node: NodeId, operand: usize, value: ValueId) {
    let inputs = &mut graph.nodes[node.0 as usize].inputs;
    match inputs.get_mut(operand) {
        Some(slot) => *slot = value,
        None => inputs.push(value),
    }
}
