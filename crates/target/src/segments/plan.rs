//! [`SegmentPlan`]: what the machine takes of a model and what the host does, by the instance's own refusals.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use npukit_graph::{Graph, NodeId, ValueId};
use npukit_lower::{Place, Problem, Segment, Segments};

use crate::config::compile_options::CompileOptions;
use crate::contract::instance::Instance;
use crate::error::TargetError;

/// A part of a model, by the names of its values: these stay when passes change the graph in between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Planned {
    /// Who computes it.
    pub place: Place,
    /// The values that it reads.
    pub inputs: Vec<String>,
    /// The values that others read of it, or that the model gives.
    pub outputs: Vec<String>,
}

/// What the machine takes of a model and what the host does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentPlan {
    pub(super) parts: Vec<Planned>,
    /// Why the host computes a node, by the node's name, where the instance refuses it.
    pub(super) reasons: BTreeMap<String, String>,
}

impl SegmentPlan {
    /// A plan for `graph`, in which the instance refuses `problems`. None when there is nothing in it for the machine: no
    /// multiply-accumulate is left to it, or what it refuses is no matter of nodes, as a memory that is too small.
    ///
    /// Segments are checked again, as often as one is refused: what was refused for another node's sake is told of then,
    /// and what is legal inside a network need not be at the end of one.
    ///
    /// # Errors
    ///
    /// Those of [`Instance::check`].
    pub fn new(
        instance: &dyn Instance,
        graph: &Graph,
        options: &CompileOptions,
        problems: &[Problem],
    ) -> Result<Option<Self>, TargetError> {
        // What gives a constant out computes nothing.
        if graph.outputs.iter().any(|&output| graph.constant(output).is_some()) {
            return Ok(None);
        }
        let mut refused = Refused::new(graph);
        if !refused.all(problems, &graph.node_ids().collect::<Vec<_>>()) {
            return Ok(None);
        }
        let mut taken = HashSet::new();
        loop {
            let segments = Segments::of(graph, &refused.nodes);
            if segments.macs_on_chip(graph) == 0 {
                return Ok(None);
            }
            let mut is_settled = true;
            for segment in segments.parts.iter().filter(|segment| segment.place == Place::Chip) {
                if taken.contains(&segment.nodes) {
                    continue;
                }
                let problems = instance.check(&part(graph, segment), options)?;
                if problems.is_empty() {
                    taken.insert(segment.nodes.clone());
                } else if refused.all(&problems, &segment.nodes) {
                    is_settled = false;
                } else {
                    return Ok(None);
                }
            }
            if is_settled {
                return Ok(Some(Self::of(graph, segments, refused.reasons)));
            }
        }
    }

    fn of(graph: &Graph, segments: Segments, reasons: BTreeMap<String, String>) -> Self {
        let names = |ids: &[ValueId]| ids.iter().map(|&id| graph.value(id).name.clone()).collect();
        let planned = |segment: Segment| Planned {
            place: segment.place,
            inputs: names(&segment.inputs),
            outputs: names(&segment.outputs),
        };
        Self { parts: segments.parts.into_iter().map(planned).collect(), reasons }
    }
}

/// A segment as a graph of its own.
fn part(graph: &Graph, segment: &Segment) -> Graph {
    graph.part(&segment.inputs.iter().copied().collect(), &segment.outputs)
}

/// The nodes that the instance refuses.
struct Refused<'g> {
    graph: &'g Graph,
    /// By node.
    nodes: Vec<bool>,
    /// By the node's name.
    reasons: BTreeMap<String, String>,
}

impl<'g> Refused<'g> {
    fn new(graph: &'g Graph) -> Self {
        Self { graph, nodes: vec![false; graph.nodes.len()], reasons: BTreeMap::new() }
    }

    /// Takes down the problems of a part that has these nodes. False when one of them is of no node, or nothing is new.
    fn all(&mut self, problems: &[Problem], among: &[NodeId]) -> bool {
        let before = self.nodes.iter().filter(|refused| **refused).count();
        for problem in problems {
            let nodes = self.meant(&problem.node, among);
            if nodes.is_empty() {
                return false;
            }
            for id in nodes {
                self.nodes[id.0 as usize] = true;
                let name = self.graph.node(id).name.clone();
                self.reasons.entry(name).or_insert_with(|| problem.reason.clone());
            }
        }
        self.nodes.iter().filter(|refused| **refused).count() > before
    }

    /// The nodes that a problem is told of by `name`: that of the node, or of one that it was made of; of an input, whose
    /// readers they are then; of a result.
    fn meant(&self, name: &str, among: &[NodeId]) -> BTreeSet<NodeId> {
        let node = |id: &NodeId| self.graph.node(*id);
        let having = |name: &str| among.iter().copied().filter(|id| node(id).name == name).collect();
        let of_that_name: BTreeSet<NodeId> = having(name);
        if !of_that_name.is_empty() {
            return of_that_name;
        }
        if let Some(value) = self.graph.find_value(name) {
            let makes = among.iter().copied().filter(|id| node(id).outputs.contains(&value));
            let made: BTreeSet<NodeId> = makes.collect();
            let reads = among.iter().copied().filter(|id| node(id).inputs.contains(&value));
            return if made.is_empty() { reads.collect() } else { made };
        }
        // A target names the parts of what it takes apart after it.
        let ends = name.rmatch_indices('/').map(|(end, _)| &name[..end]);
        ends.map(having).find(|found: &BTreeSet<NodeId>| !found.is_empty()).unwrap_or_default() // Default: no node.
    }
}
