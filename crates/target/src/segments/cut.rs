//! [`Cut`]: a graph cut by a plan; [`joined`]: prepared parts joined to one graph again.

use std::collections::{HashMap, HashSet};

use npukit_graph::{Graph, ValueId};
use npukit_lower::Processor;

use super::SegmentError;
use super::plan::{Planned, SegmentPlan};

/// A part of a graph.
pub(super) struct Cut {
    /// Whether the machine or the host computes it.
    pub place: Processor,
    /// Graph of the part. Values have the same numbers as in the whole graph.
    pub graph: Graph,
}

impl SegmentPlan {
    /// Cuts `graph`, which is the planned graph or was derived from it by passes. Outputs that are
    /// not in the plan belong to the part that computes them.
    ///
    /// # Errors
    ///
    /// [`SegmentError::Lost`].
    pub(super) fn cut(&self, graph: &Graph) -> Result<Vec<Cut>, SegmentError> {
        self.parts.iter().map(|planned| planned.cut(graph)).collect()
    }
}

impl Planned {
    fn cut(&self, graph: &Graph) -> Result<Cut, SegmentError> {
        let known: HashSet<ValueId> = ids(graph, &self.inputs)?.into_iter().collect();
        let mut results = ids(graph, &self.outputs)?;
        let part = graph.part(&known, &results);
        let made = part.nodes.iter().flat_map(|node| &node.outputs);
        let made: HashSet<ValueId> = made.copied().collect();
        let more = graph.outputs.iter().copied().filter(|id| made.contains(id) && !results.contains(id));
        let more: Vec<ValueId> = more.collect();
        if more.is_empty() {
            return Ok(Cut { place: self.place, graph: part });
        }
        results.extend(more);
        Ok(Cut { place: self.place, graph: graph.part(&known, &results) })
    }
}

fn ids(graph: &Graph, names: &[String]) -> Result<Vec<ValueId>, SegmentError> {
    let id = |name: &String| graph.find_value(name).ok_or_else(|| SegmentError::Lost { value: name.clone() });
    names.iter().map(id).collect()
}

/// Returns the graph that computes the parts in sequence, with the inputs and outputs of `whole`.
/// Values of `whole` are identified by name; other values keep their names unless another part
/// already uses them.
pub(super) fn joined(whole: &Graph, parts: &[Graph]) -> Graph {
    let mut graph = Graph { nodes: Vec::new(), ..whole.clone() };
    let known: HashMap<&str, ValueId> =
        whole.values.iter().map(|value| value.name.as_str()).zip((0..).map(ValueId)).collect();
    for part in parts {
        let mut used = vec![false; part.values.len()];
        let in_nodes = part.nodes.iter().flat_map(|node| node.inputs.iter().chain(&node.outputs));
        in_nodes.for_each(|id| used[id.0 as usize] = true);
        let mut ids = Vec::with_capacity(part.values.len());
        for (value, used) in part.values.iter().zip(used) {
            let same = known.get(value.name.as_str()).copied();
            let is_same = |&id: &ValueId| {
                let whole = whole.value(id);
                whole.info == value.info && whole.constant.is_some() == value.constant.is_some()
            };
            ids.push(match same {
                Some(id) if !used || is_same(&id) && same_elements(whole, id, value) => id,
                // Unused values may have any number.
                None if !used => ValueId(0),
                _ => {
                    let name = graph.fresh_name(&value.name);
                    graph.add_value(npukit_graph::Value { name, ..value.clone() })
                }
            });
        }
        let number = |id: &ValueId| ids[id.0 as usize];
        graph.nodes.extend(part.nodes.iter().map(|node| npukit_graph::Node {
            inputs: node.inputs.iter().map(number).collect(),
            outputs: node.outputs.iter().map(number).collect(),
            ..node.clone()
        }));
    }
    graph.remove_dead();
    graph
}

/// Returns whether a constant of a part equals that of the whole graph.
fn same_elements(whole: &Graph, id: ValueId, value: &npukit_graph::Value) -> bool {
    match (&whole.value(id).constant, &value.constant) {
        (Some(a), Some(b)) => std::sync::Arc::ptr_eq(a, b) || a == b,
        _ => true,
    }
}
