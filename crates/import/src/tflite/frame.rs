//! [`Frame`]: state of the tensors of a graph during its translation.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use npukit_graph::ValueId;

use super::model::Graph;

/// A graph during its translation.
pub(super) struct Frame<'a> {
    /// Number of the graph.
    pub(super) number: usize,
    pub(super) graph: &'a Graph<'a>,
    /// Unique names of the tensors.
    pub(super) names: Rc<[String]>,
    /// Known values of the tensors in the graph under construction.
    pub(super) values: HashMap<usize, ValueId>,
    /// Real numbers of quantized tensors.
    pub(super) reals: HashMap<usize, ValueId>,
    /// Variables to which tensors refer.
    pub(super) variables: HashMap<usize, String>,
    /// Tensors without a value because of a recorded problem.
    pub(super) failed: HashSet<usize>,
}

/// State shared by all translations of a graph: its constants, and the names of its tensors.
pub(super) struct Known {
    names: Rc<[String]>,
    values: HashMap<usize, ValueId>,
    reals: HashMap<usize, ValueId>,
}

impl<'a> Frame<'a> {
    /// Creates the frame of a new graph.
    pub(super) fn new(number: usize, graph: &'a Graph<'a>, names: Rc<[String]>) -> Self {
        let (values, reals) = (HashMap::new(), HashMap::new());
        let (variables, failed) = (HashMap::new(), HashSet::new());
        Self { number, graph, names, values, reals, variables, failed }
    }

    /// Creates the frame of a graph that was translated before.
    pub(super) fn again(number: usize, graph: &'a Graph<'a>, known: &Known) -> Self {
        let (values, reals) = (known.values.clone(), known.reals.clone());
        Self { values, reals, ..Self::new(number, graph, Rc::clone(&known.names)) }
    }

    /// Returns the state for later translations.
    pub(super) fn known(self) -> Known {
        let is_constant = |tensor: &usize| !self.graph.tensors[*tensor].data.is_empty();
        let constants = |values: HashMap<usize, ValueId>| {
            values.into_iter().filter(|(tensor, _)| is_constant(tensor)).collect()
        };
        Known { names: Rc::clone(&self.names), values: constants(self.values), reals: constants(self.reals) }
    }
}
