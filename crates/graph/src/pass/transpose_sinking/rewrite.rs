//! Permutation of the values of a region to another order of axes: [`reorder`].

use std::collections::BTreeMap;

use npukit_numeric::Tensor;

use super::{Region, Source, Survey};
use crate::ir::{Graph, Node, NodeId, ValueId};
use crate::op::{Operator, Reshape, Transpose};
use crate::pass::PassError;
use crate::pass::edit::{compose, compute, inverse, make_node};

/// Permutes all values of the region by `perm`. Returns new nodes, each with the index of the node
/// to insert it before.
pub(super) fn reorder(
    graph: &mut Graph,
    survey: &Survey,
    region: &Region,
    perm: &[usize],
) -> Result<Vec<(usize, Node)>, PassError> {
    let mut rewrite = Rewrite { perm, renamed: BTreeMap::new(), inserted: Vec::new() };
    for &value in &region.values {
        rewrite.value(graph, survey, value)?;
    }
    for &value in &region.values {
        rewrite.border(graph, survey, value);
    }
    for &value in &region.values {
        rewrite.users(graph, survey, value);
    }
    for &node in &region.nodes {
        rewrite.node(graph, node)?;
    }
    Ok(rewrite.inserted)
}

/// State of the permutation of a region by `perm`.
struct Rewrite<'a> {
    perm: &'a [usize],
    /// New value for each old one.
    renamed: BTreeMap<ValueId, ValueId>,
    /// New transpositions, each with the index of the node to insert it before.
    inserted: Vec<(usize, Node)>,
}

impl Rewrite<'_> {
    /// Adds the new value. It takes the name of the old value if no node needs that any more.
    fn value(&mut self, graph: &mut Graph, survey: &Survey, old: ValueId) -> Result<(), PassError> {
        let base = graph.value(old).name.clone();
        let op = Transpose { perm: self.perm.to_vec() }.into();
        let new = make_node(graph, &base, op, vec![old])?.outputs[0];
        graph.state_alike(old, new);
        if !keeps(graph, survey, old) {
            swap_names(graph, old, new);
        }
        self.renamed.insert(old, new);
        Ok(())
    }

    /// Adds the transpositions between a value and its source, and those before its users outside
    /// the region.
    fn border(&mut self, graph: &Graph, survey: &Survey, old: ValueId) {
        let new = self.new_value(old);
        let (from, perm, to) = match survey.source(graph, old) {
            Source::Fixed => (old, self.perm.to_vec(), new),
            Source::Transposed(from, perm) => match self.renamed.get(&from) {
                Some(&from) => (from, compose(&inverse(self.perm), &compose(&perm, self.perm)), new),
                None => (from, compose(&perm, self.perm), new),
            },
            Source::Inside if keeps(graph, survey, old) => (new, inverse(self.perm), old),
            Source::Inside => return,
        };
        let position = survey.producers[old.0 as usize].map_or(0, |node| node.0 as usize + 1);
        let name = graph.value(to).name.clone();
        let op = Transpose { perm }.into();
        self.inserted.push((position, Node { name, op, inputs: vec![from], outputs: vec![to] }));
    }

    fn new_value(&self, old: ValueId) -> ValueId {
        self.renamed.get(&old).copied().unwrap_or(old)
    }

    /// Makes the transpositions that use the old value use the new one. The pass identities removes
    /// the ones without effect.
    fn users(&self, graph: &mut Graph, survey: &Survey, old: ValueId) {
        // If the old value stays anyway, only transpositions that return the new value benefit.
        let stays = matches!(survey.source(graph, old), Source::Fixed);
        let users: Vec<(NodeId, Vec<usize>)> = survey
            .transposes(graph, old)
            .filter(|(_, perm)| !stays || *perm == self.perm)
            .map(|(node, perm)| (node, compose(&inverse(self.perm), perm)))
            .collect();
        for (user, perm) in users {
            let node = &mut graph.nodes[user.0 as usize];
            (node.op, node.inputs) = (Transpose { perm }.into(), vec![self.new_value(old)]);
        }
    }

    /// Rewrites a node of the region to use the new values.
    fn node(&self, graph: &mut Graph, id: NodeId) -> Result<(), PassError> {
        let node = graph.node(id).clone();
        let Some(op) = node.op.permuted(self.perm) else { return Ok(()) };
        let rank = self.perm.len();
        let mut inputs = Vec::with_capacity(node.inputs.len());
        for &input in &node.inputs {
            inputs.push(match self.renamed.get(&input) {
                Some(&new) => new,
                None => self.constant(graph, input, rank, op.broadcasts())?,
            });
        }
        let outputs = node.outputs.iter().map(|&output| self.new_value(output)).collect();
        graph.nodes[id.0 as usize] = Node { name: node.name, op, inputs, outputs };
        Ok(())
    }

    /// Returns a constant with its axes permuted. A constant that broadcasts gets leading axes of
    /// size 1, which are removed again afterwards.
    fn constant(
        &self,
        graph: &mut Graph,
        id: ValueId,
        rank: usize,
        broadcast: bool,
    ) -> Result<ValueId, PassError> {
        let Some(tensor) = graph.constant(id).cloned() else { return Ok(id) };
        if broadcast && tensor.data().len() == 1 {
            return Ok(id);
        }
        let name = graph.value(id).name.clone();
        let shape = tensor.shape();
        let full: Vec<usize> =
            std::iter::repeat_n(1, rank - shape.len()).chain(shape.iter().copied()).collect();
        let tensor = compute(&Reshape { shape: full }.into(), &name, &[&tensor])?;
        let tensor = compute(&Transpose { perm: self.perm.to_vec() }.into(), &name, &[&tensor])?;
        let tensor = if broadcast { without_leading_ones(&name, tensor)? } else { tensor };
        let fresh = graph.fresh_name(&name);
        let permuted = graph.add_constant(fresh, tensor);
        graph.state_alike(id, permuted);
        Ok(permuted)
    }
}

/// Returns the tensor without leading axes of size 1; at least one axis remains.
fn without_leading_ones(name: &str, tensor: Tensor) -> Result<Tensor, PassError> {
    let shape = tensor.shape();
    let ones = shape.iter().take_while(|&&size| size == 1).count().min(shape.len().saturating_sub(1));
    compute(&Reshape { shape: shape[ones..].to_vec() }.into(), name, &[&tensor])
}

/// Whether the old value stays in addition to its permuted copy.
fn keeps(graph: &Graph, survey: &Survey, value: ValueId) -> bool {
    matches!(survey.source(graph, value), Source::Fixed) || survey.is_needed_as_is(graph, value)
}

fn swap_names(graph: &mut Graph, left: ValueId, right: ValueId) {
    let name = std::mem::take(&mut graph.values[left.0 as usize].name);
    let name = std::mem::replace(&mut graph.values[right.0 as usize].name, name);
    graph.values[left.0 as usize].name = name;
}
