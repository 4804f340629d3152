//! Successive halving: what a machine does with the first layers of a network tells most of what it does with all. Rounds
//! compile an eighth, a quarter and a half of the networks' products, and after each the better half of the points goes on.
//!
//! A point that no other beats in a round always goes on; but that it is beaten there proves nothing of the whole. So those
//! that stay behind are told with the figures that they were left for, apart from those that a bound has pruned.

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

/// The shares of the products that the rounds compile. They are exact in binary: points of a file are known by them.
const SHARES: [f64; 3] = [0.125, 0.25, 0.5];

/// The networks of a round.
pub(super) struct Beginning {
    share: f64,
    networks: Vec<Prepared>,
}

/// A round of halving.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[cfg_attr(feature = "schemas", derive(schemars::JsonSchema))]
pub struct Round {
    /// The share of the models' products that it compiles.
    pub share: f64,
    /// Points that it begins with.
    pub points: usize,
    /// Points that go on after it.
    pub left: usize,
    /// Layers compiled in it in this run.
    pub layers: usize,
}

/// What came of all rounds.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Halved {
    /// The rounds.
    pub rounds: Vec<Round>,
    /// The points that were left behind, with the figures of the round after which they were.
    pub dropped: Vec<Point>,
}

/// The networks of each round; a share that is all of every network has none.
///
/// # Errors
///
/// Those of the float evaluator.
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
    /// Its nodes up to `last`; all of them without one.
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

/// The last of the first nodes that have a share of the products, with those that follow it and have none, as its
/// activation; none where they are all of the graph.
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

/// The nodes up to `last`, as a graph that gives what the others need of them.
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
    // Samples are of all inputs.
    part.inputs.clone_from(&graph.inputs);
    part.remove_dead();
    part
}

impl Exploration {
    /// Those of `plan` that are left after all rounds; `known` has points of an earlier run, `done` gets each new one.
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

    /// What comes of a machine in a round, and whether it was compiled for that now.
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
        let point = self.evaluate_on(&beginning.networks, planned, context);
        let point = Point { part: Some(beginning.share), ..point };
        done(&point);
        (point, true)
    }
}

/// Layers that were compiled now.
fn layers(tried: &[(Point, bool)]) -> usize {
    let new = tried.iter().filter(|(_, is_new)| *is_new);
    new.flat_map(|(point, _)| &point.models).map(|model| model.layers).sum()
}
