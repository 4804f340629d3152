//! Successive halving: the first layers of a network predict most of an instance's figures for all
//! layers. Rounds compile an eighth, a quarter and a half of the networks' MACs, and the better
//! half of the points remains after each.
//!
//! A point that is Pareto-optimal in a round always remains. Being dominated in a round proves
//! nothing about the whole network. So dropped points are reported with the figures for which they
//! were dropped, apart from points that a lower bound excluded.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use npukit_graph::{Graph, ValueId};
use npukit_target::Phase;
use rayon::prelude::*;
use serde::Serialize;

use super::front::Front;
use super::point::{Planned, Point};
use super::{Exploration, Prepared, reference};
use crate::Context;
use crate::error::Error;

/// Shares of the MACs that the rounds compile. They are exact in binary, because points in a file
/// are identified by them.
const SHARES: [f64; 3] = [0.125, 0.25, 0.5];

/// First layers of the networks, for one round.
pub(super) struct Beginning {
    share: f64,
    networks: Vec<Prepared>,
}

/// One round of halving.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Round {
    /// Share of the models' MACs that the round compiles, from 0 to 1.
    pub share: f64,
    /// Number of points at the start.
    pub points: usize,
    /// Number of points that remain after the round.
    pub left: usize,
    /// Number of layers that this run compiled in the round.
    pub layers: usize,
}

/// Result of all rounds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Halved {
    /// Rounds in order.
    pub rounds: Vec<Round>,
    /// Points that were dropped, with their figures from the round that dropped them.
    pub dropped: Vec<Point>,
}

/// Returns the networks of each round. A round that would include all of every network is left out.
///
/// # Errors
///
/// Fails if the float evaluator fails.
pub(super) fn beginnings(networks: &[Prepared]) -> Result<Vec<Beginning>, Error> {
    let mut all = Vec::new();
    for share in SHARES {
        let ends: Vec<Option<usize>> =
            networks.iter().map(|network| last_node(&network.model.simplified, share)).collect();
        if ends.iter().any(Option::is_some) {
            let beginnings = networks.iter().zip(ends).map(|(network, last)| network.beginning(last));
            all.push(Beginning { share, networks: beginnings.collect::<Result<_, _>>()? });
        }
    }
    Ok(all)
}

impl Prepared {
    /// Cuts the network after node `last`; keeps all nodes if `None`.
    fn beginning(&self, last: Option<usize>) -> Result<Self, Error> {
        let mut network = Self { draft: true, ..self.clone() };
        if let Some(last) = last {
            network.model.simplified = first_nodes(&self.model.simplified, last);
            network.model.graph = network.model.simplified.clone();
            network.reference = reference(&network.model, &network.samples)?;
        }
        Ok(network)
    }
}

/// Returns the last of the first nodes that have a share of the MACs. Following nodes without MACs,
/// such as the activation, are included. `None` if these are all nodes of the graph.
fn last_node(graph: &Graph, share: f64) -> Option<usize> {
    let macs: Vec<u64> = graph.macs_by_node().collect();
    let wanted = graph.macs() as f64 * share;
    let mut sum = 0_u64;
    let reached = macs.iter().position(|macs| {
        sum = sum.saturating_add(*macs);
        sum as f64 >= wanted && *macs > 0
    })?;
    let next = macs.iter().skip(reached + 1).position(|macs| *macs > 0)?;
    Some(reached + next)
}

/// Returns the nodes up to `last` as a graph, whose outputs are the values that the other nodes
/// need.
fn first_nodes(graph: &Graph, last: usize) -> Graph {
    let needed: BTreeSet<ValueId> = graph
        .nodes
        .iter()
        .skip(last + 1)
        .flat_map(|node| &node.inputs)
        .chain(&graph.outputs)
        .copied()
        .collect();
    let made = graph.nodes.iter().take(last + 1).flat_map(|node| &node.outputs);
    let results: Vec<ValueId> = made.filter(|value| needed.contains(value)).copied().collect();
    let mut part = graph.part(&HashSet::new(), &results);
    // Samples contain all inputs, so the part keeps all inputs.
    part.inputs.clone_from(&graph.inputs);
    part.remove_dead();
    part
}

impl Exploration {
    /// Returns the instances of `plan` that remain after all rounds. `known` has points of an
    /// earlier run; `done` is called with each new one.
    pub(super) fn halve<'p>(
        &self,
        plan: &'p [Planned],
        known: &[Point],
        context: Context<'_>,
        done: &(dyn Fn(&Point) + Sync),
    ) -> (Vec<&'p Planned>, Halved) {
        let mut left: Vec<&Planned> = plan.iter().collect();
        let mut halved = Halved::default();
        for beginning in &self.beginnings {
            if left.len() < 2 {
                break;
            }
            let of_round = known.iter().filter(|point| point.part == Some(beginning.share));
            let known: BTreeMap<u64, &Point> = of_round.map(|point| (point.index, point)).collect();
            let phase = Phase::counting("halve", left.len());
            let tried: Vec<(Point, bool)> = left
                .par_iter()
                .map(|planned| {
                    let found = self.try_out(beginning, planned, &known, context, done);
                    phase.advance();
                    found
                })
                .collect();
            let (points, layers) = (tried.len(), layers(&tried));
            let points_of_round: Vec<Point> = tried.into_iter().map(|(point, _)| point).collect();
            let goes_on = Front::new(&self.request.space).better_half(&points_of_round);
            let mut marks = goes_on.iter();
            left.retain(|_| marks.next().is_some_and(|goes_on| *goes_on));
            let behind = points_of_round.into_iter().zip(goes_on).filter(|(_, goes_on)| !goes_on);
            halved.dropped.extend(behind.map(|(point, _)| point));
            halved.rounds.push(Round { share: beginning.share, points, left: left.len(), layers });
        }
        halved.dropped.sort_by_key(|point| point.index);
        (left, halved)
    }

    /// Returns the point of an instance in a round, and whether it was compiled in this run.
    fn try_out(
        &self,
        beginning: &Beginning,
        planned: &Planned,
        known: &BTreeMap<u64, &Point>,
        context: Context<'_>,
        done: &(dyn Fn(&Point) + Sync),
    ) -> (Point, bool) {
        if let Some(&point) = known.get(&planned.index) {
            return (point.clone(), false);
        }
        let point = self.evaluate_on(&beginning.networks, &[], planned, context);
        let point = Point { part: Some(beginning.share), ..point };
        done(&point);
        (point, true)
    }
}

/// Counts the layers that were compiled in this run.
fn layers(tried: &[(Point, bool)]) -> usize {
    let new = tried.iter().filter(|(_, is_new)| *is_new);
    new.flat_map(|(point, _)| &point.models).map(|model| model.layers).sum()
}
