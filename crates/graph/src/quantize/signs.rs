//! [`Signs`]: values that are never negative.

use std::collections::BTreeSet;

use crate::ir::{Graph, Node, ValueId};
use crate::op::{BinaryKind, Op, UnaryKind};
use crate::stated::moves;

/// Known signs of the values of a graph, node by node.
pub(super) struct Signs {
    /// Values that are never negative.
    non_negative: BTreeSet<ValueId>,
    /// Inputs of the graph, and values that only rearrange their elements.
    given: BTreeSet<ValueId>,
}

impl Signs {
    pub fn new(graph: &Graph) -> Self {
        Self { non_negative: BTreeSet::new(), given: graph.inputs.iter().copied().collect() }
    }

    /// Whether a ReLU of the value would have no effect, or would change data given by the caller.
    pub fn needs_no_relu(&self, id: ValueId) -> bool {
        self.non_negative.contains(&id) || self.given.contains(&id)
    }

    /// Adds the results of a node; the signs of its operands must be known.
    pub fn note(&mut self, graph: &Graph, node: &Node) {
        if self.is_non_negative(graph, node) {
            self.non_negative.extend(&node.outputs);
        }
        if moves(&node.op) && node.inputs.first().is_some_and(|id| self.given.contains(id)) {
            self.given.extend(&node.outputs);
        }
    }

    fn is_non_negative(&self, graph: &Graph, node: &Node) -> bool {
        let operand = |id: &ValueId| self.non_negative.contains(id) || is_positive_constant(graph, *id);
        let all = || node.inputs.iter().all(operand);
        match &node.op {
            Op::Relu(_) | Op::Softmax(_) => true,
            Op::Clip(clip) => clip.min >= 0.0,
            Op::Unary(unary) => {
                matches!(unary.kind, UnaryKind::Sigmoid | UnaryKind::HardSigmoid { .. } | UnaryKind::Abs)
            }
            Op::Binary(binary) => matches!(binary.kind, BinaryKind::Add | BinaryKind::Mul) && all(),
            Op::AveragePool(_) | Op::MaxPool(_) | Op::Concat(_) => all(),
            op if moves(op) => node.inputs.first().is_some_and(operand),
            _ => false,
        }
    }
}

fn is_positive_constant(graph: &Graph, id: ValueId) -> bool {
    let floats = graph.constant(id).and_then(|constant| constant.as_f32());
    floats.is_some_and(|floats| floats.iter().all(|&x| x >= 0.0))
}
