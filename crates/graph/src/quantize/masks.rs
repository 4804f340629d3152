//! Masks: numbers that are added to scores so that a Softmax ignores these elements.
//!
//! The smallest float and similar numbers are always masks, by [`is_mask`]. An element of a value
//! that only flows into a Softmax is a mask if its exponential is rounded to 0, even if it is only
//! -100. [`Masks`] determines the magnitude of the other elements, so that masks do not determine
//! the step of the scores. A bound of Max and Min is also a mask: beyond the range of the compared
//! values, its exact value does not matter.

use std::collections::{BTreeMap, BTreeSet};

use super::sharing::shares;
use super::{Distributions, Scheme};
use crate::classes::Classes;
use crate::ir::{Graph, NodeId, ValueId};
use crate::op::{BinaryKind, Op};
use crate::rescale::roles::is_float;

/// Distance in nats below another score at which the exponential vanishes in 16 bits.
const BELOW: f64 = 16.0;

/// Returns the smallest magnitude of a saturated mask that hides the element it is added to, if no
/// value is larger than `largest`. The largest value plus the mask is then below the smallest value
/// without one.
pub(super) const fn room(largest: f64) -> f64 {
    2.0 * largest + BELOW
}

/// Masks of a graph on an accelerator.
pub(super) struct Masks {
    /// For each value that only flows into a Softmax: the magnitude of its unmasked elements, over
    /// all values that share its fraction length.
    useful: BTreeMap<ValueId, f64>,
    /// Constants that are used only as bounds.
    bounds: BTreeSet<ValueId>,
}

impl Masks {
    /// Finds the masks of the nodes that are not on the `host`.
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

    /// Whether a constant is used only as a bound of Max or Min. Saturated, it bounds the same
    /// numbers, as long as those fit.
    pub fn is_bound(&self, id: ValueId) -> bool {
        self.bounds.contains(&id)
    }

    /// Returns the magnitude of the unmasked elements of values that share a fraction length.
    /// `None` unless all of them only flow into a Softmax.
    pub fn largest_useful(&self, members: &[ValueId]) -> Option<f64> {
        let useful = members.iter().map(|id| self.useful.get(id).copied());
        useful.collect::<Option<Vec<f64>>>()?.into_iter().reduce(f64::max)
    }
}

/// Analysis of the values that flow into a Softmax.
struct Flows<'a> {
    graph: &'a Graph,
    host: &'a BTreeSet<NodeId>,
    seen: &'a Distributions,
    consumers: &'a [Vec<NodeId>],
}

/// Role and magnitudes of values that share a fraction length.
#[derive(Clone, Copy, Debug)]
struct Class {
    /// Whether all of them only flow into a Softmax.
    is_score: bool,
    /// Whether some are sums, in which a mask is added to a score.
    adds: bool,
    /// Largest element of all values that are not subtracted.
    largest: f64,
    /// Smallest row maximum of the rows that a Softmax sums over.
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
        // Default: a value without observations is not larger than the others.
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

/// Whether an operator that keeps the fraction length also passes masks on.
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

    /// Returns the magnitude of unmasked elements. The integers hold every element that a Softmax
    /// does not round to 0, and below these a mask, even if added to the largest score.
    fn useful(self, scheme: &Scheme) -> Option<f64> {
        let least = self.least_maximum.filter(|_| self.is_score)?;
        // e^-depth of the largest is half a step of probabilities between 0 and 1.
        let depth = f64::from(scheme.activations + 1) * std::f64::consts::LN_2;
        let added = if self.adds { self.largest } else { 0.0 };
        Some(self.largest.max(depth + added - least))
    }
}
