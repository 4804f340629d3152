//! Merging of two transpositions with a reshape in between that only splits or only joins axes.
//!
//! Channel shuffles and depth-to-space between image operators are such chains: out of NHWC, split,
//! permute, join, back to NHWC. They become a split, one transposition and a join.

use std::ops::Range;

use super::edit::{compose, has_single_use, inverse, make_node};
use super::{Pass, PassError};
use crate::ir::{Graph, Node, NodeId};
use crate::op::{Op, Reshape, Transpose};

pub(super) const PASS: Pass = Pass {
    name: "transpose-crossing",
    description: "merges two transpositions with a reshape in between that only splits or only joins axes",
    run,
};

fn run(graph: &mut Graph) -> Result<bool, PassError> {
    if !graph.nodes.iter().any(|node| matches!(node.op, Op::Reshape(_))) {
        return Ok(false);
    }
    let (producers, consumers) = (graph.producers(), graph.consumers());
    let mut changed = false;
    for second in graph.node_ids() {
        if let Some(chain) = Chain::ending_at(graph, &producers, &consumers, second) {
            changed |= chain.cross_split(graph)? || chain.cross_join(graph)?;
        }
    }
    Ok(changed)
}

/// A transposition, a reshape and a transposition, each the only user of the previous one. Neither
/// transposition is at the border of the graph, where they are cheapest.
struct Chain {
    first: NodeId,
    reshape: NodeId,
    second: NodeId,
    /// Permutations of the first and the second transposition.
    perms: [Vec<usize>; 2],
    /// Groups of axes of the reshape's operand and result that hold the same elements.
    groups: Vec<[Range<usize>; 2]>,
}

impl Chain {
    fn ending_at(
        graph: &Graph,
        producers: &[Option<NodeId>],
        consumers: &[Vec<NodeId>],
        second: NodeId,
    ) -> Option<Self> {
        let before = |node: NodeId| {
            let operand = *graph.node(node).inputs.first()?;
            // A node inserted in this run has no entry: the next run continues there.
            let producer = (*producers.get(operand.0 as usize)?)?;
            has_single_use(graph, consumers, operand).then_some(producer)
        };
        let Op::Transpose(last) = &graph.node(second).op else { return None };
        if graph.node(second).outputs.iter().any(|&output| graph.is_output(output)) {
            return None;
        }
        let reshape = before(second).filter(|&node| matches!(graph.node(node).op, Op::Reshape(_)))?;
        let first = before(reshape)?;
        let Node { op: Op::Transpose(transpose), inputs, .. } = graph.node(first) else { return None };
        if graph.inputs.contains(inputs.first()?) {
            return None;
        }
        let node = graph.node(reshape);
        let groups = groups(graph.shape(node.inputs[0]), graph.shape(node.outputs[0]))?;
        Some(Self { first, reshape, second, perms: [transpose.perm.clone(), last.perm.clone()], groups })
    }

    /// Moves the reshape before both transpositions, if each axis of its result is part of a single
    /// axis.
    fn cross_split(&self, graph: &mut Graph) -> Result<bool, PassError> {
        if self.groups.iter().any(|[from, _]| from.len() != 1) {
            return Ok(false);
        }
        let shape = graph.shape(graph.node(self.reshape).outputs[0]).to_vec();
        // Parts of each axis of the first operand, in that operand's order.
        let parts = inverse(&self.perms[0]).into_iter().map(|axis| self.groups[axis][1].clone());
        let parts: Vec<usize> = parts.flatten().collect();
        let split = Reshape { shape: parts.iter().map(|&part| shape[part]).collect() };
        let perm = compose(&inverse(&parts), &self.perms[1]);
        self.replace(graph, split.into(), Transpose { perm }.into())?;
        Ok(true)
    }

    /// Moves the reshape after both transpositions, if each axis of its result consists of whole
    /// axes.
    fn cross_join(&self, graph: &mut Graph) -> Result<bool, PassError> {
        if self.groups.iter().any(|[_, to]| to.len() != 1) {
            return Ok(false);
        }
        let parts = self.perms[1].iter().flat_map(|&axis| self.groups[axis][0].clone());
        let perm = compose(&self.perms[0], &parts.collect::<Vec<_>>());
        let shape = graph.shape(graph.node(self.second).outputs[0]).to_vec();
        self.replace(graph, Transpose { perm }.into(), Reshape { shape }.into())?;
        Ok(true)
    }

    /// Replaces the three nodes by two.
    fn replace(&self, graph: &mut Graph, before: Op, after: Op) -> Result<(), PassError> {
        let operand = graph.node(self.first).inputs[0];
        let name = graph.node(self.reshape).name.clone();
        let new = make_node(graph, &name, before, vec![operand])?;
        let (inputs, second) = (new.outputs.clone(), self.second.0 as usize);
        let Node { name, outputs, .. } = graph.node(self.second).clone();
        graph.nodes[second] = Node { name, op: after, inputs, outputs };
        // The first transposition and the reshape have no users left; the pass dead-nodes removes
        // the first.
        graph.nodes[self.reshape.0 as usize] = new;
        Ok(())
    }
}

/// Cuts two shapes with the same number of elements into the shortest runs of axes with equal
/// products. Axes of size 1 join the run before them. `None` for empty tensors.
fn groups(from: &[usize], to: &[usize]) -> Option<Vec<[Range<usize>; 2]>> {
    let mut groups: Vec<[Range<usize>; 2]> = Vec::new();
    let (mut i, mut j) = (0, 0);
    while i < from.len() && j < to.len() {
        let (start_i, start_j) = (i, j);
        let (mut left, mut right) = (from[i], to[j]);
        (i, j) = (i + 1, j + 1);
        while left != right {
            let (side, axis, shape) =
                if left < right { (&mut left, &mut i, from) } else { (&mut right, &mut j, to) };
            *side = side.checked_mul(*shape.get(*axis)?)?;
            *axis += 1;
        }
        groups.push([start_i..i, start_j..j]);
    }
    // The remaining axes have size 1.
    if from.contains(&0) {
        return None;
    }
    let last = groups.last_mut()?;
    (last[0].end, last[1].end) = (from.len(), to.len());
    Some(groups)
}

#[cfg(test)]
mod tests {
    use super::groups;

    #[test]
    fn shapes_are_cut_where_products_agree() {
        assert_eq!(groups(&[2, 12, 5], &[2, 3, 4, 5]), Some(vec![[0..1, 0..1], [1..2, 1..3], [2..3, 3..4]]));
        assert_eq!(groups(&[6, 4], &[4, 6]), Some(vec![[0..2, 0..2]]));
        assert_eq!(groups(&[2, 1, 3], &[2, 3]), Some(vec![[0..1, 0..1], [1..3, 1..2]]));
        assert_eq!(groups(&[2, 3, 1, 1], &[6]), Some(vec![[0..4, 0..1]]));
        assert_eq!(groups(&[6], &[2, 3, 1, 1]), Some(vec![[0..1, 0..4]]));
        assert_eq!(groups(&[5, 0], &[0, 5]), None);
        assert_eq!(groups(&[0, 3], &[3, 0]), None);
        assert_eq!(groups(&[], &[]), None);
    }
}
