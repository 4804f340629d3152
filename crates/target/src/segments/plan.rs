//! [`SegmentPlan`]: assignment of a model's nodes to machine and host, based on what the instance
//! refuses.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use npukit_graph::{Graph, NodeId, ValueId};
use npukit_lower::{Problem, Processor, Segment, Segments};

use crate::config::compile_options::CompileOptions;
use crate::contract::instance::Instance;
use crate::error::TargetError;

/// A part of a model, identified by the names of its values, since these stay the same when passes
/// change the graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Planned {
    /// Whether the machine or the host computes it.
    pub place: Processor,
    /// Values that it reads.
    pub inputs: Vec<String>,
    /// Values that other parts read or that the model outputs.
    pub outputs: Vec<String>,
}

/// Assignment of a model's nodes to machine and host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentPlan {
    pub(super) parts: Vec<Planned>,
    /// Reasons why the instance refuses nodes, by node name.
    pub(super) reasons: BTreeMap<String, String>,
}

impl SegmentPlan {
    /// Creates a plan for `graph`, in which the instance refuses `problems`. `None` if the machine
    /// would compute nothing: no multiply-accumulate remains, or a problem does not concern a node,
    /// such as a memory that is too small.
    ///
    /// Segments are checked again until none is refused. A node may have been refused only because
    /// of another, and a node that is legal inside a network may be illegal at the end of one.
    ///
    /// # Errors
    ///
    /// The errors of [`Instance::check`].
    pub fn new(
        instance: &dyn Instance,
        graph: &Graph,
        options: &CompileOptions,
        problems: &[Problem],
    ) -> Result<Option<Self>, TargetError> {
        // A constant as output involves no computation.
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
            for segment in segments.parts.iter().filter(|segment| segment.place == Processor::Chip) {
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

/// Returns a segment as a separate graph.
fn part(graph: &Graph, segment: &Segment) -> Graph {
    graph.part(&segment.inputs.iter().copied().collect(), &segment.outputs)
}

/// Nodes that the instance refuses.
struct Refused<'g> {
    graph: &'g Graph,
    /// Whether each node is refused, by node.
    nodes: Vec<bool>,
    /// Reasons, by node name.
    reasons: BTreeMap<String, String>,
}

impl<'g> Refused<'g> {
    fn new(graph: &'g Graph) -> Self {
        Self { graph, nodes: vec![false; graph.nodes.len()], reasons: BTreeMap::new() }
    }

    /// Records the problems of a part with these nodes. Returns false if a problem concerns no
    /// node, or if nothing is new.
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

    /// Returns the nodes to which a problem named `name` refers: the node, a node it was derived
    /// from, an input's readers, or a result's producer.
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
        // A target names the parts of a decomposed node after the node.
        let ends = name.rmatch_indices('/').map(|(end, _)| &name[..end]);
        ends.map(having).find(|found: &BTreeSet<NodeId>| !found.is_empty()).unwrap_or_default() // Default: no node.
    }
}
