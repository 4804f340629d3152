//! Removal of transpositions before a flattening: the weights that follow are permuted instead.
//!
//! A network leaves the image axes with Transpose (back to the model's order), Reshape to `[n, k]`
//! and a product with constant weights `[k, m]`. Without the transposition, the elements of each
//! row have another order, and the rows of the weights are permuted to match.

use super::edit::{floats, permuted_positions};
use super::{Pass, PassError, edit};
use crate::ir::{Graph, Node, NodeId, ValueId};
use crate::op::{Op, Operator};

pub(super) const PASS: Pass = Pass {
    name: "flatten-weights",
    description: "permutes constant weights in place of a transposition before a flattening",
    run,
};

fn run(graph: &mut Graph) -> Result<bool, PassError> {
    // Absorbing changes only the operand of a reshape, and constants: the users of results stay the
    // same.
    let (producers, consumers) = (graph.producers(), graph.consumers());
    let mut changed = false;
    for reshape in graph.node_ids() {
        changed |= absorb(graph, &producers, &consumers, reshape)?;
    }
    Ok(changed)
}

/// Removes the transposition before the node `reshape`, if possible.
fn absorb(
    graph: &mut Graph,
    producers: &[Option<NodeId>],
    consumers: &[Vec<NodeId>],
    reshape: NodeId,
) -> Result<bool, PassError> {
    if !matches!(graph.node(reshape).op, Op::Reshape(_)) {
        return Ok(false);
    }
    let node = graph.node(reshape);
    let Some(producer) = producers[node.inputs[0].0 as usize] else { return Ok(false) };
    let Node { op: Op::Transpose(transpose), inputs, .. } = graph.node(producer) else { return Ok(false) };
    let operand = inputs[0];
    let order = row_order(graph.shape(operand), &transpose.perm, graph.shape(node.outputs[0]));
    let Some(order) = order else { return Ok(false) };
    let Some(products) = products_behind(graph, consumers, reshape) else { return Ok(false) };
    if !order.is_sorted() {
        products.into_iter().try_for_each(|product| permute_rows(graph, product, &order))?;
    }
    graph.nodes[reshape.0 as usize].inputs[0] = operand;
    Ok(true)
}

/// Returns, for each element of a row of the flattened operand, its index in a row of the flattened
/// transposition. `None` if the flattening mixes the rows.
fn row_order(shape: &[usize], perm: &[usize], flat: &[usize]) -> Option<Vec<usize>> {
    let skipped = row_axes(shape, perm, flat)?;
    let row_perm: Vec<usize> = perm[skipped..].iter().map(|axis| axis - skipped).collect();
    let former = permuted_positions(&shape[skipped..], &row_perm);
    let mut order = vec![0; former.len()];
    former.iter().enumerate().for_each(|(after, &before)| order[before] = after);
    Some(order)
}

/// Returns the number of leading axes that the rows do not include, 0 or 1.
fn row_axes(shape: &[usize], perm: &[usize], flat: &[usize]) -> Option<usize> {
    match flat {
        [1, _] => Some(0),
        [rows, _] if perm.first() == Some(&0) && shape.first() == Some(rows) => Some(1),
        _ => None,
    }
}

/// Whether a transposition of a tensor of `shape` before the node `reshape` can be removed.
pub(super) fn is_absorbed(
    graph: &Graph,
    consumers: &[Vec<NodeId>],
    reshape: NodeId,
    shape: &[usize],
    perm: &[usize],
) -> bool {
    row_axes(shape, perm, graph.shape(graph.node(reshape).outputs[0])).is_some()
        && products_behind(graph, consumers, reshape).is_some()
}

/// Returns the products that use the rows of the flattening `reshape`, each with its own constant
/// weights. Pointwise operators may come in between. `None` if another node uses the rows.
fn products_behind(graph: &Graph, consumers: &[Vec<NodeId>], reshape: NodeId) -> Option<Vec<NodeId>> {
    let node = graph.node(reshape);
    let mut products = Vec::new();
    let absorbed =
        matches!(node.op, Op::Reshape(_)) && find_products(graph, consumers, node.outputs[0], &mut products);
    (absorbed && !products.is_empty()).then_some(products)
}

/// Collects the products; returns false if `rows` has other users. Uses a worklist, since a model
/// may have more consecutive pointwise operators than recursive calls fit on the stack.
fn find_products(
    graph: &Graph,
    consumers: &[Vec<NodeId>],
    rows: ValueId,
    products: &mut Vec<NodeId>,
) -> bool {
    let mut left = vec![rows];
    while let Some(rows) = left.pop() {
        if graph.is_output(rows) {
            return false;
        }
        // A value added since the lists were made: its users are unknown.
        let Some(users) = consumers.get(rows.0 as usize) else { return false };
        for &user in users {
            let node = graph.node(user);
            if node.op.is_pointwise() {
                left.push(node.outputs[0]);
                continue;
            }
            products.push(user);
            if !multiplies_by_constant(graph, node, rows) {
                return false;
            }
        }
    }
    true
}

/// Whether the node multiplies `rows` from the right by a constant matrix.
fn multiplies_by_constant(graph: &Graph, node: &Node, rows: ValueId) -> bool {
    let plain = match &node.op {
        Op::MatMul(_) => true,
        Op::Gemm(gemm) => !gemm.trans_a,
        _ => false,
    };
    let operands = (node.inputs.first() == Some(&rows), node.inputs.get(1), node.inputs.get(2));
    let (true, Some(&weights), addend) = operands else { return false };
    plain && addend != Some(&rows) && graph.shape(weights).len() == 2 && floats(graph, weights).is_some()
}

/// Gives the product weights with the inner axis in the new order.
fn permute_rows(graph: &mut Graph, product: NodeId, order: &[usize]) -> Result<(), PassError> {
    let node = graph.node(product);
    let transposed = matches!(&node.op, Op::Gemm(gemm) if gemm.trans_b);
    let weights = node.inputs[1];
    let (shape, base) = (graph.shape(weights).to_vec(), graph.value(weights).name.clone());
    let Some(values) = floats(graph, weights) else { return Ok(()) };
    let columns = shape[1];
    let permuted: Vec<f32> = if transposed {
        values.chunks(columns.max(1)).flat_map(|row| order.iter().map(|&k| row[k])).collect()
    } else {
        order.iter().flat_map(|&k| &values[k * columns..(k + 1) * columns]).copied().collect()
    };
    let new = edit::add_floats(graph, &base, shape, permuted)?;
    graph.state_alike(weights, new);
    graph.nodes[product.0 as usize].inputs[1] = new;
    Ok(())
}
