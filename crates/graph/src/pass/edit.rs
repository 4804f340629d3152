//! Small edits that passes share.

use std::collections::HashSet;
use std::sync::Arc;

use npukit_numeric::{Tensor, TensorData};

use super::PassError;
use crate::ir::{Graph, Node, NodeId, Value, ValueId};
use crate::op::{Op, OpError, Operator};
use crate::shape::{gather_strided, strides};

/// Returns the floats of a constant.
pub(super) fn floats(graph: &Graph, id: ValueId) -> Option<&[f32]> {
    graph.constant(id)?.as_f32()
}

/// Adds a float constant. `data` must have the elements of `shape`.
pub(super) fn add_floats(
    graph: &mut Graph,
    base: &str,
    shape: Vec<usize>,
    data: Vec<f32>,
) -> Result<ValueId, PassError> {
    let tensor = constant(base, shape, data)?;
    let name = graph.fresh_name(base);
    Ok(graph.add_constant(name, tensor))
}

/// Makes a float tensor. `data` must have the elements of `shape`.
pub(super) fn constant(base: &str, shape: Vec<usize>, data: Vec<f32>) -> Result<Tensor, PassError> {
    let found = data.len();
    Tensor::new(shape.clone(), TensorData::F32(data)).map_err(|_| {
        let expected = shape.iter().product();
        let error = OpError::Size { op: "constant", what: "number of elements", expected, found };
        PassError::Op { node: base.to_owned(), error }
    })
}

/// Makes a node with one result, a new value named after `base`. The caller inserts the node.
pub(super) fn make_node(
    graph: &mut Graph,
    base: &str,
    op: Op,
    inputs: Vec<ValueId>,
) -> Result<Node, PassError> {
    let values: Vec<&Value> = inputs.iter().map(|&id| graph.value(id)).collect();
    let refused = |error| PassError::Op { node: base.to_owned(), error };
    let infos = op.infer(&values).map_err(refused)?;
    let name = graph.fresh_name(base);
    let add = |info| graph.add_value(Value { name: name.clone(), info, constant: None });
    let outputs = infos.into_iter().take(1).map(add).collect();
    Ok(Node { name, op, inputs, outputs })
}

/// Evaluates `op` on constants.
pub(super) fn compute(op: &Op, node: &str, operands: &[&Tensor]) -> Result<Tensor, PassError> {
    let refused = |error| PassError::Op { node: node.to_owned(), error };
    let results = op.eval(operands).map_err(refused)?;
    let none = OpError::ResultCount { op: op.name(), expected: 1, found: 0 };
    results.into_iter().next().ok_or_else(|| refused(none))
}

/// Whether a single node uses the value, once, and it is not an output of the graph.
pub(super) fn has_single_use(graph: &Graph, consumers: &[Vec<NodeId>], id: ValueId) -> bool {
    consumers[id.0 as usize].len() == 1 && !graph.is_output(id)
}

/// Nodes to remove, whose only result equals another value. They are chosen from the last node to
/// the first, and [`Bypasses::apply`] removes them all at once. Until then, nodes keep their
/// indices and operands.
pub(super) struct Bypasses {
    /// Replacement of each value; the value itself if it is not replaced.
    stands: Vec<ValueId>,
    producers: Vec<Option<NodeId>>,
    outputs: HashSet<ValueId>,
    gone: Vec<bool>,
}

impl Bypasses {
    pub(super) fn new(graph: &Graph) -> Self {
        Self {
            stands: (0..graph.values.len() as u32).map(ValueId).collect(),
            producers: graph.producers(),
            outputs: graph.outputs.iter().copied().collect(),
            gone: vec![false; graph.nodes.len()],
        }
    }

    /// Marks the node at `index`, whose only result equals `from`, for removal. Returns whether it
    /// can be removed: an output of the graph that equals an input or another output must remain.
    pub(super) fn take_out(&mut self, graph: &mut Graph, index: usize, from: ValueId) -> bool {
        let Some(&to) = graph.nodes[index].outputs.first() else { return false };
        let (from, to) = (self.standing(from), self.standing(to));
        if !self.outputs.contains(&to) {
            graph.state_alike(to, from);
            self.stands[to.0 as usize] = from;
        } else if self.outputs.contains(&from) || self.producers[from.0 as usize].is_none() {
            return false;
        } else {
            // The operand's producer now produces the output.
            graph.state_alike(from, to);
            self.stands[from.0 as usize] = to;
        }
        self.gone[index] = true;
        true
    }

    /// Returns the final replacement of a value. New values have no replacement.
    fn standing(&mut self, mut id: ValueId) -> ValueId {
        while let Some(&next) = self.stands.get(id.0 as usize).filter(|next| **next != id) {
            // Path halving, for later lookups.
            let further = self.stands[next.0 as usize];
            self.stands[id.0 as usize] = further;
            id = further;
        }
        id
    }

    /// Removes the marked nodes and inserts the nodes `new`, like [`insert_nodes`]. Returns whether
    /// any node was removed.
    pub(super) fn apply(mut self, graph: &mut Graph, new: Vec<(usize, Node)>) -> bool {
        rearrange(graph, new, &self.gone);
        if !self.gone.contains(&true) {
            return false;
        }
        for id in graph.nodes.iter_mut().flat_map(|node| node.inputs.iter_mut().chain(&mut node.outputs)) {
            *id = self.standing(*id);
        }
        true
    }
}

/// Inserts new nodes: a pair `(i, node)` places `node` before the node now at `i`.
pub(super) fn insert_nodes(graph: &mut Graph, new: Vec<(usize, Node)>) {
    rearrange(graph, new, &[]);
}

/// Like [`insert_nodes`], but also removes the nodes marked `gone`.
pub(super) fn rearrange(graph: &mut Graph, mut new: Vec<(usize, Node)>, gone: &[bool]) {
    if new.is_empty() && !gone.contains(&true) {
        return;
    }
    new.sort_by_key(|(position, _)| *position);
    let mut new = new.into_iter().peekable();
    let mut nodes = Vec::with_capacity(graph.nodes.len() + new.len());
    for (index, node) in std::mem::take(&mut graph.nodes).into_iter().enumerate() {
        while let Some((_, inserted)) = new.next_if(|(position, _)| *position <= index) {
            nodes.push(inserted);
        }
        // Default: `insert_nodes` marks no nodes.
        if !gone.get(index).copied().unwrap_or(false) {
            nodes.push(node);
        }
    }
    nodes.extend(new.map(|(_, node)| node));
    graph.nodes = nodes;
}

/// Returns the inverse of `perm`.
pub(super) fn inverse(perm: &[usize]) -> Vec<usize> {
    let mut inverse = vec![0; perm.len()];
    perm.iter().enumerate().for_each(|(to, &from)| inverse[from] = to);
    inverse
}

/// Returns the permutation equal to `first` followed by `second`.
pub(super) fn compose(first: &[usize], second: &[usize]) -> Vec<usize> {
    second.iter().map(|&axis| first[axis]).collect()
}

/// Whether the permutation leaves every axis in place.
pub(super) fn is_identity(perm: &[usize]) -> bool {
    perm.iter().enumerate().all(|(to, &from)| to == from)
}

/// Whether permuting `shape` by `perm` leaves the elements in order: it moves axes of size 1 only.
pub(super) fn keeps_order(perm: &[usize], shape: &[usize]) -> bool {
    let moved: Vec<usize> = perm.iter().copied().filter(|&axis| shape[axis] != 1).collect();
    moved.is_sorted()
}

/// Returns the positions of the elements of a tensor of `shape` after a permutation. Element `i` of
/// the result is the former position of the element now at `i`.
pub(super) fn permuted_positions(shape: &[usize], perm: &[usize]) -> Vec<usize> {
    let positions: Vec<usize> = (0..shape.iter().product()).collect();
    let own = strides(shape);
    let (shape, strides): (Vec<usize>, Vec<isize>) =
        perm.iter().map(|&axis| (shape[axis], own[axis])).unzip();
    gather_strided(&positions, 0, &shape, &strides)
}

/// Returns the tensor of a constant, shared.
pub(super) fn tensor(graph: &Graph, id: ValueId) -> Option<Arc<Tensor>> {
    graph.constant(id).cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checked on three axes against the effect on the positions of a tensor.
    #[test]
    fn permutations_move_elements() {
        let all = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
        for shape in [[2, 3, 4], [2, 1, 4], [1, 1, 4], [1, 1, 1]] {
            let count: usize = shape.iter().product();
            let ordered: Vec<usize> = (0..count).collect();
            for perm in all {
                let moved = permuted_positions(&shape, &perm);
                assert_eq!(keeps_order(&perm, &shape), moved == ordered, "{shape:?} by {perm:?}");
                assert_eq!(is_identity(&perm), perm == [0, 1, 2]);
                assert!(is_identity(&compose(&perm, &inverse(&perm))));
                let turned = perm.map(|axis| shape[axis]);
                for second in all {
                    let twice = permuted_positions(&turned, &second).into_iter().map(|place| moved[place]);
                    let both = permuted_positions(&shape, &compose(&perm, &second));
                    assert_eq!(twice.collect::<Vec<_>>(), both, "{shape:?} by {perm:?}, then {second:?}");
                }
            }
        }
    }
}
