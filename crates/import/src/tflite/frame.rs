//! [`Frame`]: what is known of the tensors of a graph while it is translated.

use std::collections::{HashMap, HashSet};
use std::rc::Rc;

use npukit_graph::ValueId;

use super::model::Graph;

/// A graph being translated.
pub(super) struct Frame<'a> {
    /// Its number.
    pub(super) number: usize,
    pub(super) graph: &'a Graph<'a>,
    /// Names of the tensors, each once.
    pub(super) names: Rc<[String]>,
    /// What the tensors are in the graph under construction, as far as they are known.
    pub(super) values: HashMap<usize, ValueId>,
    /// The real numbers that tensors of integers stand for.
    pub(super) reals: HashMap<usize, ValueId>,
    /// Variables that tensors stand for.
    pub(super) variables: HashMap<usize, String>,
    /// Tensors that are not known because of a problem that is recorded.
    pub(super) failed: HashSet<usize>,
}

/// What is the same whenever a graph is translated: its constants, and the names of its tensors.
pub(super) struct Known {
    names: Rc<[String]>,
    values: HashMap<usize, ValueId>,
    reals: HashMap<usize, ValueId>,
}

impl<'a> Frame<'a> {
    /// The graph of that number, of which nothing is known.
    pub(super) fn new(number: usize, graph: &'a Graph<'a>, names: Rc<[String]>) -> Self {
        let (values, reals) = (HashMap::new(), HashMap::new());
        let (variables, failed) = (HashMap::new(), HashSet::new());
        Self { number, graph, names, values, reals, variables, failed }
    }

    /// The same with what is known from another time.
    pub(super) fn again(number: usize, graph: &'a Graph<'a>, known: &Known) -> Self {
        let (values, reals) = (known.values.clone(), known.reals.clone());
        Self { values, reals, ..Self::new(number, graph, Rc::clone(&known.names)) }
    }

    /// What is known of its constants.
    pub(super) fn known(self) -> Known {
        let is_constant = |tensor: &usize| !self.graph.tensors[*tensor].data.is_empty();
        let constants = |values: HashMap<usize, ValueId>| {
            values.into_iter().filter(|(tensor, _)| is_constant(tensor)).collect()
        };
        Known { names: Rc::clone(&self.names), values: constants(self.values), reals: constants(self.reals) }
    }
}
