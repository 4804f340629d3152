//! [`of`]: the graphs that the compiler may lower for a model.

use npukit_graph::op::{Binary, BinaryKind, Conv};
use npukit_graph::rescale::Scales;
use npukit_graph::{Graph, NodeId, Op, ValueId};
use npukit_numeric::Tensor;
use npukit_target::Reference;

use crate::config::{Config, DataType};
use crate::lower::{Order, lines, prepare_scaled};

/// Orders of the bias, and their names.
const ORDERS: [(&str, Order); 2] =
    [("bias first", Order::Default), ("bias in the order of Tensil's compiler", Order::Upstream)];

/// Returns one reference for each order of the bias; then again with functions approximated by
/// lines, if the model has such functions.
pub(super) fn of(graph: &Graph, config: &Config, scales: Scales) -> impl Iterator<Item = Reference> {
    let exact = Config { data_type: DataType::Float32, ..config.clone() };
    let drawn = lines::drawn(graph, config);
    let forms = [false, true].into_iter().take(1 + usize::from(drawn.is_some()));
    let reference = move |(is_drawn, (name, order)): (bool, (&str, Order))| {
        let drawn = drawn.as_ref().filter(|_| is_drawn);
        let lowered = drawn.map_or(graph, |(graph, _)| graph);
        Reference {
            order: name.to_owned(),
            graph: prepared(lowered, config, order, &scales),
            unrounded: prepared(graph, &exact, order, &scales),
            approximated: drawn.map_or_else(Vec::new, |(_, approximated)| approximated.clone()),
            parts: Vec::new(),
        }
    };
    forms.flat_map(|is_drawn| ORDERS.map(|order| (is_drawn, order))).map(reference)
}

fn prepared(graph: &Graph, config: &Config, order: Order, scales: &Scales) -> Graph {
    let mut graph = prepare_scaled(graph, config, order, scales);
    if order == Order::Default {
        merge_biases(&mut graph);
    }
    graph
}

/// If two convolutions are added and merged into one product, the sum of their biases is rounded.
/// It becomes the bias of one convolution, and the other has none.
fn merge_biases(graph: &mut Graph) {
    let (producers, consumers) = (graph.producers(), graph.consumers());
    for id in graph.node_ids() {
        let Op::Binary(Binary { kind: BinaryKind::Add }) = graph.node(id).op else { continue };
        let summands = graph.node(id).inputs.clone();
        let dense = |&value: &ValueId| {
            let node = producers[value.0 as usize]?;
            let alone = consumers[value.0 as usize] == [id] && !graph.is_output(value);
            (alone && is_dense(graph, node)).then_some(node)
        };
        let [Some(first), Some(second)] =
            [summands.first(), summands.get(1)].map(|value| value.and_then(dense))
        else {
            continue;
        };
        if first != second && graph.shape(summands[0]) == graph.shape(summands[1]) {
            merge(graph, first, second);
        }
    }
}

fn is_dense(graph: &Graph, node: NodeId) -> bool {
    let node = graph.node(node);
    let constant = |&id: &ValueId| graph.constant(id).is_some_and(|tensor| tensor.as_f32().is_some());
    matches!(&node.op, Op::Conv(Conv { group: 1, .. })) && node.inputs[1..].iter().all(constant)
}

/// Moves the sum of both biases to the first convolution.
fn merge(graph: &mut Graph, first: NodeId, second: NodeId) {
    let (first, second) = (first.min(second), first.max(second));
    let bias = |node: NodeId| graph.node(node).inputs.get(2).and_then(|&id| graph.constant(id)?.as_f32());
    let (Some(left), Some(right)) = (bias(first), bias(second)) else { return };
    let sums: Vec<f32> = left.iter().zip(right).map(|(left, right)| left + right).collect();
    let Ok(tensor) = Tensor::from_f32(vec![sums.len()], sums) else { return };
    let name = graph.fresh_name("merged biases");
    let merged = graph.add_constant(name, tensor);
    graph.nodes[first.0 as usize].inputs[2] = merged;
    graph.nodes[second.0 as usize].inputs.truncate(2);
}
