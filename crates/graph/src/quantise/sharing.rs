//! [`Sharing`]: what each value is for, and which values have one fraction length.

use std::collections::{BTreeSet, HashSet};

use super::{Kind, Quantisation};
use crate::classes::Classes;
use crate::ir::{Graph, Node, NodeId, ValueId};
use crate::op::{Op, ReduceKind, UnaryKind};
use crate::rescale::roles::{Role, is_float, role, scaled_operands};

/// Of the values of a graph.
pub(super) struct Sharing {
    /// What each is for; none of what is not quantised.
    pub kinds: Vec<Option<Kind>>,
    /// A representative of the values it shares its fraction length with.
    pub classes: Vec<usize>,
    /// Whether saturation of the value is without effect that its readers' results would not show:
    /// only rectifiers and maximum pooling read it, which saturate alike.
    pub hidden: Vec<bool>,
}

impl Sharing {
    /// `host` computes in floats: no node of it makes values share anything, and what it alone makes and reads are no
    /// integers.
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
                // A constant that is used in two ways keeps the narrower, which is the first.
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

/// Whether all floats of the node have one fraction length: it moves or compares or adds integers.
pub(super) fn shares(graph: &Graph, node: &Node) -> bool {
    role(graph, node) == Role::Homogeneous
        && match &node.op {
            // Means and lengths are sums of products, which have a fraction length of their own.
            Op::AveragePool(_) => false,
            Op::Reduce(reduce) => matches!(reduce.kind, ReduceKind::Max | ReduceKind::Min),
            Op::Unary(unary) => !matches!(unary.kind, UnaryKind::Neg),
            _ => true,
        }
}

/// The constants that a node works with as integers, and what for.
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

/// The quantised values worth telling of, in the order in which nodes read and make them: no result that only
/// holds the elements of another in another order, and none whose saturation its readers' results show.
pub fn shown(graph: &Graph, quantisation: &Quantisation) -> Vec<ValueId> {
    let (hidden, mut seen) = (hidden(graph), HashSet::new());
    let moves = |op: &Op| matches!(op, Op::Reshape(_) | Op::Transpose(_));
    let of_nodes = graph.nodes.iter().flat_map(|node| {
        let constants = node.inputs.iter().filter(|&&id| graph.constant(id).is_some());
        constants.chain(node.outputs.iter().filter(move |_| !moves(&node.op)))
    });
    let all = graph.inputs.iter().chain(of_nodes).copied();
    let is_reported = |id: &ValueId| quantisation.fraction(*id).is_some() && !hidden[id.0 as usize];
    all.filter(is_reported).filter(|&id| seen.insert(id)).collect()
}

/// Whether saturation of each value is without effect that its readers' results would not show.
pub(super) fn hidden(graph: &Graph) -> Vec<bool> {
    let saturates_alike = |&id: &NodeId| matches!(graph.node(id).op, Op::Relu(_) | Op::MaxPool(_));
    let hidden = |(id, readers): (usize, &Vec<NodeId>)| {
        !readers.is_empty() && !graph.is_output(ValueId(id as u32)) && readers.iter().all(saturates_alike)
    };
    graph.consumers().iter().enumerate().map(hidden).collect()
}
