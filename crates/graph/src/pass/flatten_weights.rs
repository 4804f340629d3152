//! Transpositions before a flattening: the weights that follow are permuted instead.
//!
//! A network that leaves the image axes does so by Transpose (back to the model's order), Reshape
//! to `[n, k]` and a product with constant weights `[k, m]`. Without the transposition the
//! elements of each row arrive in another order, to which the rows of the weights are brought.

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
    // What is absorbed changes the operand of a reshape, and constants: who uses its result stays.
    let (producers, consumers) = (graph.producers(), graph.consumers());
    let mut changed = false;
    for reshape in graph.node_ids() {
        changed |= absorb(graph, &producers, &consumers, reshape)?;
    }
    Ok(changed)
}

/// Removes the transposition before the node `reshape`, when there is one that can go.
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

/// For each element of a row of the flattened operand, the element of a row of the flattened
/// transposition that it is. `None` when the flattening mixes the rows.
fn row_order(shape: &[usize], perm: &[usize], flat: &[usize]) -> Option<Vec<usize>> {
    let skipped = row_axes(shape, perm, flat)?;
    let row_perm: Vec<usize> = perm[skipped..].iter().map(|axis| axis - skipped).collect();
    let former = permuted_positions(&shape[skipped..], &row_perm);
    let mut order = vec![0; former.len()];
    former.iter().enumerate().for_each(|(after, &before)| order[before] = after);
    Some(order)
}

/// The number of axes in front that the rows of the flattening do not take in, 0 or 1.
fn row_axes(shape: &[usize], perm: &[usize], flat: &[usize]) -> Option<usize> {
    match flat {
        [1, _] => Some(0),
        [rows, _] if perm.first() == Some(&0) && shape.first() == Some(rows) => Some(1),
        _ => None,
    }
}

/// Whether a transposition of a tensor of `shape` before the node `reshape` can go.
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

/// The products that take the rows of the result of the flattening `reshape`, all of them by
/// constant weights of their own; point-wise operators may stand between. `None` when something
/// else uses it.
fn products_behind(graph: &Graph, consumers: &[Vec<NodeId>], reshape: NodeId) -> Option<Vec<NodeId>> {
    let node = graph.node(reshape);
    let mut products = Vec::new();
    let absorbed =
        matches!(node.op, Op::Reshape(_)) && find_products(graph, consumers, node.outputs[0], &mut products);
    (absorbed && !products.is_empty()).then_some(products)
}

/// Collects the products; says whether they are all that uses `rows`. A list of what is left to
/// look at, as a model may have more point-wise operators in a row than calls fit on the stack.
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
        // A value made since they were listed: its users are not known.
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

/// Gives the product weights whose inner axis is in the new order.
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
