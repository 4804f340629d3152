//! A graph as steps, each of one node or several, for machine or host: [`Layers`].

use std::collections::{BTreeMap, BTreeSet};

use npukit_graph::{Graph, NodeId, ValueId};

use crate::lower::work::Work;

/// One or several nodes computed as one.
#[derive(Clone, Debug)]
pub struct Step {
    /// What is computed.
    pub work: Work,
    /// Nodes, the one whose results these are last.
    pub nodes: Vec<NodeId>,
    /// What changes from run to run.
    pub operands: Vec<ValueId>,
    pub results: Vec<ValueId>,
}

impl Step {
    /// The node whose results these are.
    pub fn last(&self) -> NodeId {
        *self.nodes.last().expect("a step is made of at least one node")
    }
}

/// A graph's steps in order.
#[derive(Debug)]
pub struct Layers {
    /// The graph, with constants as the steps want them.
    pub graph: Graph,
    pub steps: Vec<Step>,
    /// Gelus by the error function that became the machine's.
    pub approximated: usize,
    /// Whether CVO's extensions may be used.
    pub extensions: bool,
    /// Whether products take 16 bits of their activations.
    pub two_byte_activations: bool,
    /// Norms whose gains are in weights.
    pub folds: Folds,
    /// Whether all weights of a matrix have one scale.
    pub one_scale: bool,
    /// Words of L2.
    pub l2_words: usize,
}

/// What a product takes of the norm before it.
#[derive(Clone, Debug, PartialEq)]
pub struct Folded {
    /// The norm.
    pub norm: NodeId,
    /// Its result, which the product takes.
    pub normal: ValueId,
    /// Its gains, a constant with a value for each of a row.
    pub gain: ValueId,
    /// Its biases, the same.
    pub bias: Option<ValueId>,
    /// The factors between the two.
    pub factor: f32,
    /// The nodes between the two.
    pub between: Vec<NodeId>,
}

/// Which norms leave their gains to which products.
#[derive(Clone, Debug, Default)]
pub struct Folds {
    pub(super) norms: BTreeSet<NodeId>,
    pub(super) products: BTreeMap<NodeId, Folded>,
}
