//! Numbers that stand for nothing: masks are added to scores so that Softmax leaves these out.
//!
//! The least float and what is near it are masks anywhere, by [`is_mask`]. What only flows into a Softmax is one wherever
//! its exponential is rounded to 0, be it -100: [`Masks`] says how large values are that are not, so that no mask sets
//! the step of the scores. What Max and Min compare with is another: beyond what it is compared with, it may be anything.

use std::collections::{BTreeMap, BTreeSet};

use super::sharing::shares;
use super::{Distributions, Scheme};
use crate::classes::Classes;
use crate::ir::{Graph, NodeId, ValueId};
use crate::op::{BinaryKind, Op};
use crate::rescale::roles::is_float;

/// Nats that a score lies below another one whose exponential leaves nothing of its own in 16 bits.
const BELOW: f64 = 16.0;

/// The least magnitude of integers by which a mask that saturates leaves out what it is added to, where no value is larger
/// than `largest`: the largest value with a mask is then below the smallest without one.
pub(super) const fn room(largest: f64) -> f64 {
    2.0 * largest + BELOW
}

/// What masks there are in a graph on an accelerator.
pub(super) struct Masks {
    /// By value that only flows into a Softmax: how large elements are that are not masked, over all values that have
    /// its fraction length.
    useful: BTreeMap<ValueId, f64>,
    /// Constants that are bounds and nothing else.
    bounds: BTreeSet<ValueId>,
}

impl Masks {
    /// Those of the nodes that are not the `host`'s.
    pub fn new(graph: &Graph, host: &BTreeSet<NodeId>, seen: &Distributions, scheme: &Scheme) -> Self {
        let consumers = graph.consumers();
        let compares = |&id: &NodeId| {
            let is_bound = |op: &Op| matches!(op, Op::Binary(binary) if matches!(binary.kind, BinaryKind::Max | BinaryKind::Min));
            !host.contains(&id) && is_bound(&graph.node(id).op)
        };
        let constants =
            (0..graph.values.len() as u32).map(ValueId).filter(|&id| graph.constant(id).is_some());
        let bounds = constants.filter(|&id| {
            let readers = &consumers[id.0 as usize];
            !readers.is_empty() && !graph.is_output(id) && readers.iter().all(compares)
        });
        let bounds = bounds.collect();
        let flows = Flows { graph, host, seen, consumers: &consumers };
        Self { useful: flows.useful(scheme), bounds }
    }

    /// Whether a constant is a bound of Max or Min and nothing else: saturated, it bounds the same numbers, as long as
    /// those fit.
    pub fn is_bound(&self, id: ValueId) -> bool {
        self.bounds.contains(&id)
    }

    /// How large elements of values of one fraction length are that are not masked, if all of them only flow into a
    /// Softmax.
    pub fn largest_useful(&self, members: &[ValueId]) -> Option<f64> {
        let useful = members.iter().map(|id| self.useful.get(id).copied());
        useful.collect::<Option<Vec<f64>>>()?.into_iter().reduce(f64::max)
    }
}

/// Values on their way into a Softmax.
struct Flows<'a> {
    graph: &'a Graph,
    host: &'a BTreeSet<NodeId>,
    seen: &'a Distributions,
    consumers: &'a [Vec<NodeId>],
}

/// What is known of values that have one fraction length.
#[derive(Clone, Copy, Debug)]
struct Class {
    /// Whether all of them only flow into a Softmax.
    is_score: bool,
    /// Whether some are sums, so that a mask and a score are added.
    adds: bool,
    /// The largest element of all that are not subtracted.
    largest: f64,
    /// The least of the largest elements of what a Softmax sums over.
    least_maximum: Option<f64>,
}

impl Flows<'_> {
    fn useful(&self, scheme: &Scheme) -> BTreeMap<ValueId, f64> {
        let classes = self.classes();
        let mut known: BTreeMap<usize, Class> = BTreeMap::new();
        let values =
            || (0..self.graph.values.len() as u32).map(ValueId).filter(|&id| is_float(self.graph, id));
        for id in values() {
            let own = self.class_of(id);
            let class = known.entry(classes[id.0 as usize]).or_insert(own);
            *class = class.and(own);
        }
        let useful = |id: ValueId| Some((id, known.get(&classes[id.0 as usize])?.useful(scheme)?));
        values().filter_map(useful).collect()
    }

    fn classes(&self) -> Vec<usize> {
        let mut classes = Classes::new(self.graph.values.len());
        for (_, node) in self.machines().filter(|(_, node)| shares(self.graph, node)) {
            let values = node.inputs.iter().chain(&node.outputs).copied();
            classes.join(values.filter(|&id| is_float(self.graph, id)));
        }
        classes.representatives()
    }

    fn machines(&self) -> impl Iterator<Item = (NodeId, &crate::ir::Node)> {
        let nodes = (0..).map(NodeId).zip(&self.graph.nodes);
        nodes.filter(|(id, _)| !self.host.contains(id))
    }

    fn class_of(&self, id: ValueId) -> Class {
        let readers = &self.consumers[id.0 as usize];
        let flows = |&reader: &NodeId| {
            let node = self.graph.node(reader);
            matches!(node.op, Op::Softmax(_))
                || (!self.host.contains(&reader) && shares(self.graph, node) && carries(&node.op))
        };
        let kind = |&reader: &NodeId| match &self.graph.node(reader).op {
            Op::Binary(binary) => Some((binary.kind, self.graph.node(reader).inputs.get(1) == Some(&id))),
            _ => None,
        };
        let kinds: Vec<(BinaryKind, bool)> = readers.iter().filter_map(kind).collect();
        let is_subtracted = kinds.contains(&(BinaryKind::Sub, true));
        let distribution = self.seen.get(id).filter(|_| self.graph.constant(id).is_none());
        let constants = self.graph.constant(id).and_then(|constant| constant.as_f32());
        // Default: a value of which nothing is seen is no larger than the others.
        let seen = distribution.map_or(0.0, |found| found.extremes()[1]);
        let largest = constants.map_or(seen, |all| {
            all.iter().copied().filter(|x| x.is_finite()).fold(0.0, |most, x| f64::from(x).max(most))
        });
        Class {
            is_score: !readers.is_empty() && !self.graph.is_output(id) && readers.iter().all(flows),
            adds: kinds.iter().any(|(kind, _)| matches!(kind, BinaryKind::Add | BinaryKind::Sub)),
            largest: if is_subtracted { 0.0 } else { largest },
            least_maximum: distribution.and_then(super::Distribution::least_maximum),
        }
    }
}

/// Whether an operator that does not change how integers stand for numbers hands masks on as masks.
fn carries(op: &Op) -> bool {
    match op {
        Op::Binary(binary) => {
            matches!(binary.kind, BinaryKind::Add | BinaryKind::Sub | BinaryKind::Max | BinaryKind::Min)
        }
        Op::Where(_) | Op::Concat(_) | Op::Gather(_) | Op::Pad(_) | Op::Reshape(_) | Op::Slice(_) => true,
        Op::Split(_) | Op::Tile(_) | Op::Transpose(_) | Op::Trilu(_) | Op::Clip(_) => true,
        _ => false,
    }
}

impl Class {
    fn and(self, other: Self) -> Self {
        let least = [self.least_maximum, other.least_maximum].into_iter().flatten().reduce(f64::min);
        Self {
            is_score: self.is_score && other.is_score,
            adds: self.adds || other.adds,
            largest: self.largest.max(other.largest),
            least_maximum: least,
        }
    }

    /// How large elements are that are not masked: the integers hold all that is not rounded to 0 by a Softmax, and below
    /// that a mask, even when it was added to the largest score.
    fn useful(self, scheme: &Scheme) -> Option<f64> {
        let least = self.least_maximum.filter(|_| self.is_score)?;
        // What is e^-depth of the largest is half a step of probabilities between 0 and 1.
        let depth = f64::from(scheme.activations + 1) * std::f64::consts::LN_2;
        let added = if self.adds { self.largest } else { 0.0 };
        Some(self.largest.max(depth + added - least))
    }
}
