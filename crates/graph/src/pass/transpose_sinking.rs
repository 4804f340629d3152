//! Choice of the order of axes, region by region.
//!
//! Importers put a Transpose before and after each operator that needs NHWC. Operators that work in
//! any order of axes ([`Operator::permuted`]) connect values to *regions*. All values of a region
//! are permuted at once if that reduces the cost of the transpositions at its border. Deciding for
//! whole regions handles residual connections, where moving single transpositions across single
//! operators fails because each transposition waits for another one.

mod rewrite;

use std::collections::BTreeMap;

use super::edit::{compose, insert_nodes, inverse, is_identity, keeps_order};
use super::flatten_weights::is_absorbed;
use super::{Pass, PassError, reduce_crossing};
use crate::ir::{Graph, Node, NodeId, ValueId};
use crate::op::{Op, Operator};

pub(super) const PASS: Pass = Pass {
    name: "transpose-sinking",
    description: "moves transpositions through operators that work in any order of axes, to where they cancel",
    run,
};

fn run(graph: &mut Graph) -> Result<bool, PassError> {
    let survey = Survey::new(graph);
    let mut reordered = vec![false; graph.values.len()];
    let mut new = Vec::new();
    for region in survey.regions(graph) {
        // The survey does not include what a later region now reads from this one: the next run
        // continues there.
        let leads_to = |&value: &ValueId| survey.transposed(graph, value).any(|to| reordered[to.0 as usize]);
        if region.values.iter().any(leads_to) {
            continue;
        }
        if let Some(perm) = survey.best_order(graph, &region) {
            new.extend(rewrite::reorder(graph, &survey, &region, &perm)?);
            region.values.iter().for_each(|value| reordered[value.0 as usize] = true);
        }
    }
    let changed = reordered.contains(&true);
    insert_nodes(graph, new);
    Ok(changed)
}

/// Facts about the graph before any change.
struct Survey {
    producers: Vec<Option<NodeId>>,
    consumers: Vec<Vec<NodeId>>,
    /// Whether each node works in any order of axes.
    flexible: Vec<bool>,
}

/// Values connected by flexible nodes, all with the same number of axes.
#[derive(Default)]
struct Region {
    values: Vec<ValueId>,
    nodes: Vec<NodeId>,
}

impl Region {
    /// Requires values in ascending order.
    fn contains(&self, value: ValueId) -> bool {
        self.values.binary_search(&value).is_ok()
    }
}

/// Origin of a value of a region.
enum Source {
    /// A node of the region.
    Inside,
    /// A transposition of the given value, with its permutation.
    Transposed(ValueId, Vec<usize>),
    /// An input of the graph, or a node that fixes the order of axes.
    Fixed,
}

impl Survey {
    fn new(graph: &Graph) -> Self {
        let flexible = graph.nodes.iter().map(|node| is_flexible(graph, node)).collect();
        Self { producers: graph.producers(), consumers: graph.consumers(), flexible }
    }

    /// Returns the regions with transpositions at their border, in the order of their first nodes.
    fn regions(&self, graph: &Graph) -> Vec<Region> {
        let mut parents: Vec<usize> = (0..graph.values.len()).collect();
        for node in graph.node_ids().filter(|&node| self.is_flexible(node)) {
            let values: Vec<usize> = activations(graph, graph.node(node)).map(|id| id.0 as usize).collect();
            for pair in values.windows(2) {
                let (left, right) = (root(&mut parents, pair[0]), root(&mut parents, pair[1]));
                parents[left.max(right)] = left.min(right);
            }
        }
        let mut regions: BTreeMap<usize, Region> = BTreeMap::new();
        for node in graph.node_ids().filter(|&node| self.is_flexible(node)) {
            let first = activations(graph, graph.node(node)).next();
            if let Some(first) = first {
                regions.entry(root(&mut parents, first.0 as usize)).or_default().nodes.push(node);
            }
        }
        for (index, value) in graph.values.iter().enumerate() {
            let region = regions.get_mut(&root(&mut parents, index));
            if let (Some(region), None) = (region, &value.constant) {
                region.values.push(ValueId(index as u32));
            }
        }
        regions.into_values().collect()
    }

    fn is_flexible(&self, node: NodeId) -> bool {
        self.flexible[node.0 as usize]
    }

    fn source(&self, graph: &Graph, value: ValueId) -> Source {
        let Some(producer) = self.producers[value.0 as usize] else { return Source::Fixed };
        match &graph.node(producer).op {
            Op::Transpose(transpose) => {
                Source::Transposed(graph.node(producer).inputs[0], transpose.perm.clone())
            }
            _ if self.is_flexible(producer) => Source::Inside,
            _ => Source::Fixed,
        }
    }

    /// Returns the transpositions that use the value.
    fn transposes<'a>(
        &'a self,
        graph: &'a Graph,
        value: ValueId,
    ) -> impl Iterator<Item = (NodeId, &'a [usize])> {
        self.consumers[value.0 as usize].iter().filter_map(|&user| match &graph.node(user).op {
            Op::Transpose(transpose) => Some((user, transpose.perm.as_slice())),
            _ => None,
        })
    }

    /// Returns the results of the transpositions of the value. If its region was reordered, they
    /// still have results.
    fn transposed<'a>(&'a self, graph: &'a Graph, value: ValueId) -> impl Iterator<Item = ValueId> + 'a {
        self.transposes(graph, value).map(|(node, _)| graph.node(node).outputs[0])
    }

    /// Returns the nodes other than transpositions that use the value and fix the order of its
    /// axes.
    fn fixed_users(&self, graph: &Graph, value: ValueId) -> impl Iterator<Item = NodeId> {
        let fixes =
            |user: &NodeId| !self.is_flexible(*user) && !matches!(graph.node(*user).op, Op::Transpose(_));
        self.consumers[value.0 as usize].iter().copied().filter(fixes)
    }

    /// Whether the value is needed in its present order of axes.
    fn is_needed_as_is(&self, graph: &Graph, value: ValueId) -> bool {
        graph.is_output(value) || self.fixed_users(graph, value).next().is_some()
    }

    /// Returns the order of axes that makes the region's border cheapest; `None` if the present one
    /// is.
    fn best_order(&self, graph: &Graph, region: &Region) -> Option<Vec<usize>> {
        let mut orders: Vec<Vec<usize>> = Vec::new();
        for &value in &region.values {
            if let Source::Transposed(_, perm) = self.source(graph, value) {
                orders.push(inverse(&perm));
            }
            orders.extend(self.transposes(graph, value).map(|(_, perm)| perm.to_vec()));
        }
        orders.sort();
        orders.dedup();
        let possible =
            |perm: &Vec<usize>| region.nodes.iter().all(|&node| graph.node(node).op.permuted(perm).is_some());
        let present: u64 = region.values.iter().map(|&value| self.present_cost(graph, region, value)).sum();
        let cost =
            |perm: &[usize]| region.values.iter().map(|&value| self.cost(graph, region, value, perm)).sum();
        let costs = orders.into_iter().filter(possible).map(|perm| (cost(&perm), perm));
        costs.min().filter(|(cost, _): &(u64, _)| *cost < present).map(|(_, perm)| perm)
    }

    /// Returns the present cost of the transpositions next to a value of a region. One between two
    /// values of the region is attributed to the first.
    fn present_cost(&self, graph: &Graph, region: &Region, value: ValueId) -> u64 {
        let shape = graph.shape(value);
        let incoming = match self.source(graph, value) {
            Source::Transposed(from, perm) if !region.contains(from) => {
                price(&perm, graph.shape(from), graph.inputs.contains(&from))
            }
            _ => 0,
        };
        let outgoing = self.transposes(graph, value);
        let outgoing = outgoing.map(|(node, perm)| price(perm, shape, self.gives_output(graph, node)));
        incoming + outgoing.sum::<u64>()
    }

    /// Returns their cost if the axes of the region were permuted.
    fn cost(&self, graph: &Graph, region: &Region, value: ValueId, perm: &[usize]) -> u64 {
        let shape = graph.shape(value);
        let source = self.source(graph, value);
        let incoming = match &source {
            Source::Fixed => price(perm, shape, graph.inputs.contains(&value)),
            Source::Transposed(from, old) => self.cost_incoming(graph, region, value, *from, old, perm),
            Source::Inside => self.price_back(graph, value, perm),
        };
        let outgoing = self.transposes(graph, value).map(|(node, old)| {
            let at_output = self.gives_output(graph, node);
            let inside = region.contains(graph.node(node).outputs[0]);
            let order = if inside { compose(old, perm) } else { old.to_vec() };
            match source {
                Source::Fixed if !inside && old != perm => price(&order, shape, at_output),
                _ => price(&compose(&inverse(perm), &order), &permuted(shape, perm), at_output),
            }
        });
        incoming + outgoing.sum::<u64>()
    }

    /// Like `cost`, for a value that is the transposition `old` of `from`.
    fn cost_incoming(
        &self,
        graph: &Graph,
        region: &Region,
        value: ValueId,
        from: ValueId,
        old: &[usize],
        perm: &[usize],
    ) -> u64 {
        let (shape, at_input) = (graph.shape(from), graph.inputs.contains(&from));
        let kept = if self.is_needed_as_is(graph, value) { price(old, shape, at_input) } else { 0 };
        let new = if region.contains(from) { 0 } else { price(&compose(old, perm), shape, at_input) };
        kept + new
    }

    /// Returns the cost of transposing a value back to its present order of axes.
    fn price_back(&self, graph: &Graph, value: ValueId, perm: &[usize]) -> u64 {
        let shape = graph.shape(value);
        let mut users = self.fixed_users(graph, value).peekable();
        let is_output = graph.is_output(value);
        let (new, back) = (permuted(shape, perm), inverse(perm));
        let absorbed = |user| {
            is_absorbed(graph, &self.consumers, user, &new, &back)
                || reduce_crossing::is_absorbed(graph, user, &back)
        };
        if !is_output && (users.peek().is_none() || users.all(absorbed)) {
            return 0;
        }
        price(perm, shape, is_output)
    }

    fn gives_output(&self, graph: &Graph, node: NodeId) -> bool {
        graph.node(node).outputs.iter().any(|&output| graph.is_output(output))
    }
}

/// Returns the shape after a permutation.
fn permuted(shape: &[usize], perm: &[usize]) -> Vec<usize> {
    perm.iter().map(|&axis| shape[axis]).collect()
}

/// Returns the price of a transposition: the number of moved elements, and almost nothing if they
/// stay in order. It is slightly less at the border of the graph, so that the remaining
/// transpositions gather there.
fn price(perm: &[usize], shape: &[usize], at_border: bool) -> u64 {
    if is_identity(perm) {
        return 0;
    }
    let moved = if keeps_order(perm, shape) { 0 } else { shape.iter().map(|&size| size as u64).product() };
    4 * moved + 4 - u64::from(at_border)
}

/// Whether the node works in any order of axes: its operator does, and all its activations have the
/// same number of axes.
fn is_flexible(graph: &Graph, node: &Node) -> bool {
    let Some(rank) = node.outputs.first().map(|&output| graph.shape(output).len()) else { return false };
    let identity: Vec<usize> = (0..rank).collect();
    let mut constants = node.inputs.iter().filter(|&&input| graph.constant(input).is_some());
    rank > 1
        && node.op.permuted(&identity).is_some()
        && activations(graph, node).all(|value| graph.shape(value).len() == rank)
        && constants.all(|&constant| graph.shape(constant).len() <= rank)
        && has_one_scale(graph, node)
        && node.inputs.iter().any(|&input| graph.constant(input).is_none())
}

/// Whether the node has no scales that differ along an axis.
fn has_one_scale(graph: &Graph, node: &Node) -> bool {
    let one = |&id: &ValueId| graph.shape(id).iter().all(|&size| size == 1);
    !matches!(node.op, Op::QuantizeLinear(_) | Op::DequantizeLinear(_)) || node.inputs.iter().skip(1).all(one)
}

/// Returns the results and the operands that are not constant.
fn activations<'a>(graph: &'a Graph, node: &'a Node) -> impl Iterator<Item = ValueId> + 'a {
    let values = node.inputs.iter().chain(&node.outputs).copied();
    values.filter(|&value| graph.constant(value).is_none())
}

fn root(parents: &mut [usize], mut index: usize) -> usize {
    while parents[index] != index {
        parents[index] = parents[parents[index]];
        index = parents[index];
    }
    index
}

#[cfg(test)]
mod tests {
    use super::price;

    /// Moving one element costs as much as a transposition that moves none; the border is slightly
    /// cheaper.
    #[test]
    fn elements_that_move_are_what_costs() {
        let (one, moved) = (price(&[1, 0], &[1, 15], false), price(&[1, 0], &[3, 5], false));
        assert_eq!((moved, price(&[0, 1], &[3, 5], false)), (16 * one, 0));
        assert!(price(&[1, 0], &[3, 5], true) < moved && price(&[1, 0], &[1, 15], true) < one);
        assert!(price(&[1, 0], &[1, 15], true) > 0);
    }
}
