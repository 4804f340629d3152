//! Attention products whose keys or values are repeated for groups of heads. The heads of a group
//! become rows of one product, without repetition.

use super::edit::{insert_nodes, make_node};
use super::matching::Pattern;
use super::{Pass, PassError};
use crate::ir::{Graph, Node, ValueId};
use crate::op::{MatMul, Op, Reshape, Transpose};

pub(super) const PASS: Pass = Pass {
    name: "shared-heads",
    description: "multiplies groups of heads by their shared keys or values, without repeating these for each head",
    run,
};

fn run(graph: &mut Graph) -> Result<bool, PassError> {
    let producers = graph.producers();
    let mut new = Vec::new();
    for index in 0..graph.nodes.len() {
        let found = product(&Pattern { graph, producers: &producers }, &graph.nodes[index]);
        if let Some(product) = found {
            let nodes = put(graph, index, &product)?;
            new.extend(nodes.into_iter().map(|node| (index, node)));
        }
    }
    let changed = !new.is_empty();
    insert_nodes(graph, new);
    Ok(changed)
}

/// A product of each head with the matrix that its group shares.
struct Product {
    left: ValueId,
    shared: ValueId,
    /// Whether each matrix of `shared` is transposed first.
    transposed: bool,
    /// Number of batches, shared heads, rows of all heads of a group, and inner size.
    rows: [usize; 4],
}

fn product(pattern: &Pattern<'_>, node: &Node) -> Option<Product> {
    let (Op::MatMul(_), &[left, right]) = (&node.op, node.inputs.as_slice()) else { return None };
    let (repeated, transposed) = match pattern.producer(right) {
        Some(Node { op: Op::Transpose(op), inputs, .. }) if op.perm == [0, 1, 3, 2] => {
            (*inputs.first()?, true)
        }
        _ => (right, false),
    };
    let (shared, group) = before_repetition(pattern, repeated)?;
    let &[batch, heads, queries, inner] = pattern.graph.shape(left) else { return None };
    let &[shared_batch, kv_heads, ..] = pattern.graph.shape(shared) else { return None };
    let fits = batch == shared_batch && heads == kv_heads * group;
    fits.then_some(Product { left, shared, transposed, rows: [batch, kv_heads, group * queries, inner] })
}

/// Returns the `[b, heads, s, d]` value that `[b, heads * group, s, d]` repeats for groups of
/// neighbors, and the number of repetitions.
fn before_repetition(pattern: &Pattern<'_>, value: ValueId) -> Option<(ValueId, usize)> {
    let input = |node: &Node| node.inputs.first().copied();
    let joined = pattern.producer(value).filter(|node| matches!(node.op, Op::Reshape(_)))?;
    let tiled = pattern.producer(input(joined)?)?;
    let Op::Tile(tile) = &tiled.op else { return None };
    let apart = pattern.producer(input(tiled)?).filter(|node| matches!(node.op, Op::Reshape(_)))?;
    let &[1, 1, group, 1, 1] = tile.repeats.as_slice() else { return None };
    let shared = input(apart)?;
    let &[batch, heads, sequence, features] = pattern.graph.shape(shared) else { return None };
    let fits = pattern.graph.shape(input(tiled)?) == [batch, heads, 1, sequence, features]
        && pattern.graph.shape(value) == [batch, heads * group, sequence, features];
    fits.then_some((shared, group))
}

/// Turns the node at `index` into a reshape of the product; returns the nodes to insert before it.
fn put(graph: &mut Graph, index: usize, product: &Product) -> Result<Vec<Node>, PassError> {
    let name = graph.nodes[index].name.clone();
    let shape: Vec<usize> =
        graph.nodes[index].outputs.iter().flat_map(|&id| graph.shape(id).to_vec()).collect();
    let mut new = Vec::new();
    let mut emit = |graph: &mut Graph, op: Op, inputs: Vec<ValueId>| -> Result<ValueId, PassError> {
        let node = make_node(graph, &name, op, inputs)?;
        let result = node.outputs[0];
        new.push(node);
        Ok(result)
    };
    let left = emit(graph, Reshape { shape: product.rows.to_vec() }.into(), vec![product.left])?;
    let right = match product.transposed {
        true => emit(graph, Transpose { perm: vec![0, 1, 3, 2] }.into(), vec![product.shared])?,
        false => product.shared,
    };
    let result = emit(graph, MatMul.into(), vec![left, right])?;
    (graph.nodes[index].op, graph.nodes[index].inputs) = (Reshape { shape }.into(), vec![result]);
    Ok(new)
}
