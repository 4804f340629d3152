//! [`Graph::part`]: extracts the nodes between known values and wanted values.

use std::collections::{BTreeSet, HashSet};

use crate::ir::{Graph, ValueId};
use crate::names::Names;

impl Graph {
    /// Returns the part of the graph that computes `results` from the values in `known`, as a
    /// separate graph.
    ///
    /// Its inputs are the values of `known` that it needs, in graph order, and any graph inputs
    /// that it needs in addition. Its outputs are `results`, computed even if they are in `known`.
    /// Values keep their numbers and names; constants are shared.
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
