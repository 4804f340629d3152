//! A graph as steps of one or more nodes, for the machine or the host: [`Layers`].

use std::collections::{BTreeMap, BTreeSet};

use npukit_graph::{Graph, NodeId, ValueId};

use crate::lower::work::Work;

/// One or more nodes that are computed together.
#[derive(Clone, Debug)]
pub struct Step {
    /// Operation that the step computes.
    pub work: Work,
    /// Nodes of the step; the last one gives the results.
    pub nodes: Vec<NodeId>,
    /// Operands that are not constant.
    pub operands: Vec<ValueId>,
    pub results: Vec<ValueId>,
}

impl Step {
    /// Returns the node that gives the results.
    pub fn last(&self) -> NodeId {
        *self.nodes.last().expect("a step is made of at least one node")
    }
}

/// Steps of a graph, in order.
#[derive(Debug)]
pub struct Layers {
    /// Graph with constants in the form that the steps need.
    pub graph: Graph,
    pub steps: Vec<Step>,
    /// Number of Gelus of the error function that the machine approximates.
    pub approximated: usize,
    /// Whether CVO's extensions may be used.
    pub extensions: bool,
    /// Whether products use 16 bits of their activations.
    pub two_byte_activations: bool,
    /// Norms with gains that are folded into weights.
    pub folds: Folds,
    /// Whether all weights of a matrix have one scale.
    pub one_scale: bool,
    /// Size of L2 in words.
    pub l2_words: usize,
}

/// Parameters of a norm that are folded into the following product.
#[derive(Clone, Debug, PartialEq)]
pub struct Folded {
    /// Node of the norm.
    pub norm: NodeId,
    /// Result of the norm, operand of the product.
    pub normal: ValueId,
    /// Gains: a constant with one value per element of a row.
    pub gain: ValueId,
    /// Biases: a constant with one value per element of a row.
    pub bias: Option<ValueId>,
    /// Product of the factors between the two.
    pub factor: f32,
    /// Nodes between the norm and the product.
    pub between: Vec<NodeId>,
}

/// Norms with folded gains, and the products that receive the gains.
#[derive(Clone, Debug, Default)]
pub struct Folds {
    pub(super) norms: BTreeSet<NodeId>,
    pub(super) products: BTreeMap<NodeId, Folded>,
}
