//! [`Graph::part`]: the nodes between values that are known and values that are wanted.

use std::collections::{BTreeSet, HashSet};

use crate::ir::{Graph, ValueId};
use crate::names::Names;

impl Graph {
    /// The part of the graph that computes `results` from values in `known`, as a graph of its own.
    ///
    /// Its inputs are the values of `known` that it needs, in their order in the graph, and what
    /// inputs of the graph it needs besides; its outputs are `results`, computed even if they are
    /// in `known`. Values keep their numbers and names; constants are shared.
    pub fn part(&self, known: &HashSet<ValueId>, results: &[ValueId]) -> Graph {
        let producers = self.producers();
        let (mut inputs, mut nodes) = (BTreeSet::new(), BTreeSet::new());
        let mut waiting: Vec<ValueId> = results.to_vec();
        let mut seen: HashSet<ValueId> = results.iter().copied().collect();
        while let Some(value) = waiting.pop() {
            let given = known.contains(&value) && !results.contains(&value);
            match producers.get(value.0 as usize).copied().flatten() {
                Some(node) if !given => {
                    nodes.insert(node);
                    waiting.extend(self.node(node).inputs.iter().filter(|&&input| seen.insert(input)));
                }
                _ if self.constant(value).is_some() => {}
                _ => {
                    inputs.insert(value);
                }
            }
        }
        Graph {
            name: self.name.clone(),
            values: self.values.clone(),
            nodes: nodes.into_iter().map(|node| self.node(node).clone()).collect(),
            inputs: inputs.into_iter().collect(),
            outputs: results.to_vec(),
            scales: self.scales.clone(),
            names: Names::default(),
        }
    }
}
