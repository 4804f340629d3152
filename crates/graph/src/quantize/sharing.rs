//! [`Sharing`]: role of each value, and values that share a fraction length.

use std::collections::{BTreeSet, HashSet};

use super::{Kind, Quantization};
use crate::classes::Classes;
use crate::ir::{Graph, Node, NodeId, ValueId};
use crate::op::{Op, ReduceKind, UnaryKind};
use crate::rescale::roles::{Role, is_float, role, scaled_operands};

/// Roles and classes of the values of a graph.
pub(super) struct Sharing {
    /// Role of each value; `None` for a value that is not quantized.
    pub kinds: Vec<Option<Kind>>,
    /// Representative of the values that share the value's fraction length.
    pub classes: Vec<usize>,
    /// Whether the results of the value's readers also show its saturation: only rectifiers and
    /// maximum pooling read it, which saturate in the same way.
    pub hidden: Vec<bool>,
}

impl Sharing {
    /// Determines roles and classes for `graph`. `host` computes in floats: its nodes make no
    /// values share a fraction length, and values that only it produces and reads are not
    /// quantized.
    pub fn new(graph: &Graph, host: &BTreeSet<NodeId>) -> Self {
        let mut kinds = vec![None; graph.values.len()];
        let mut classes = Classes::new(graph.values.len());
        let float = |id: &ValueId| is_float(graph, *id);
        let machines = (0..).map(NodeId).zip(&graph.nodes).filter(|(id, _)| !host.contains(id));
        let machines: Vec<&Node> = machines.map(|(_, node)| node).collect();
        let touched = machines.iter().flat_map(|node| node.inputs.iter().chain(&node.outputs));
        let consumers = graph.consumers();
        let is_unread = |id: &&ValueId| consumers[id.0 as usize].is_empty() || graph.is_output(**id);
        let unread = graph.inputs.iter().filter(is_unread);
        let values = touched.chain(unread).filter(|id| graph.constant(**id).is_none());
        for &id in values.filter(|&id| float(id)) {
            kinds[id.0 as usize] = Some(Kind::Activation);
        }
        for node in machines {
            for (id, kind) in constants(graph, node) {
                // A constant with two roles keeps the one with fewer bits, which comes first.
                let known = &mut kinds[id.0 as usize];
                *known = Some(known.map_or(kind, |known: Kind| known.min(kind)));
            }
            if shares(graph, node) {
                let operands = node.inputs.iter().take(scaled_operands(&node.op));
                classes.join(operands.chain(&node.outputs).copied().filter(float));
            }
        }
        Self { kinds, classes: classes.representatives(), hidden: hidden(graph) }
    }
}

/// Whether all floats of the node share a fraction length: it moves, compares or adds integers.
pub(super) fn shares(graph: &Graph, node: &Node) -> bool {
    role(graph, node) == Role::Homogeneous
        && match &node.op {
            // Means and norms are sums of products, whose results have separate fraction lengths.
            Op::AveragePool(_) => false,
            Op::Reduce(reduce) => matches!(reduce.kind, ReduceKind::Max | ReduceKind::Min),
            Op::Unary(unary) => !matches!(unary.kind, UnaryKind::Neg),
            _ => true,
        }
}

/// Returns the constants that a node uses as integers, with their roles.
fn constants(graph: &Graph, node: &Node) -> Vec<(ValueId, Kind)> {
    let kind = |(place, &id): (usize, &ValueId)| {
        graph.constant(id).filter(|_| is_float(graph, id))?;
        let kind = match role(graph, node) {
            Role::Linear { .. } => match (&node.op, place) {
                // scale, bias, mean, variance
                (Op::BatchNormalization(_), 2 | 3) | (_, 2) => Kind::Bias,
                _ => Kind::Weight,
            },
            Role::Homogeneous if place >= scaled_operands(&node.op) => Kind::Weight,
            Role::Homogeneous => Kind::Activation,
            Role::Product | Role::Real | Role::Absorbing | Role::Gated | Role::Function | Role::Host => {
                return None;
            }
        };
        Some((id, kind))
    };
    node.inputs.iter().enumerate().filter_map(kind).collect()
}

/// Returns the quantized values to report, in the order in which nodes read and produce them.
/// Values that only rearrange the elements of another are omitted, as are those whose saturation
/// the results of their readers show.
pub fn shown(graph: &Graph, quantization: &Quantization) -> Vec<ValueId> {
    let (hidden, mut seen) = (hidden(graph), HashSet::new());
    let moves = |op: &Op| matches!(op, Op::Reshape(_) | Op::Transpose(_));
    let of_nodes = graph.nodes.iter().flat_map(|node| {
        let constants = node.inputs.iter().filter(|&&id| graph.constant(id).is_some());
        constants.chain(node.outputs.iter().filter(move |_| !moves(&node.op)))
    });
    let all = graph.inputs.iter().chain(of_nodes).copied();
    let is_reported = |id: &ValueId| quantization.fraction(*id).is_some() && !hidden[id.0 as usize];
    all.filter(is_reported).filter(|&id| seen.insert(id)).collect()
}

/// Returns, for each value, whether the results of its readers also show its saturation.
pub(super) fn hidden(graph: &Graph) -> Vec<bool> {
    let saturates_alike = |&id: &NodeId| matches!(graph.node(id).op, Op::Relu(_) | Op::MaxPool(_));
    let hidden = |(id, readers): (usize, &Vec<NodeId>)| {
        !readers.is_empty() && !graph.is_output(ValueId(id as u32)) && readers.iter().all(saturates_alike)
    };
    graph.consumers().iter().enumerate().map(hidden).collect()
}
