//! Normal form of Gemm: factors of 1, nothing transposed, an addend of one constant per column.

use super::edit::{add_floats, compute, floats, insert_nodes, make_node, tensor};
use super::{Pass, PassError};
use crate::ir::{Graph, Node, ValueId};
use crate::op::{Binary, BinaryKind, Gemm, Op, Transpose};
use crate::shape::{broadcast_strides, gather_strided};

pub(super) const PASS: Pass = Pass {
    name: "gemm-form",
    description: "folds the factors and transpositions of Gemm into its constants",
    run,
};

fn run(graph: &mut Graph) -> Result<bool, PassError> {
    let mut changed = false;
    let mut index = 0;
    while index < graph.nodes.len() {
        if let Op::Gemm(gemm) = graph.nodes[index].op.clone() {
            let nodes = graph.nodes.len();
            let steps = [fold_beta, split_addend, spread_addend, fold_alpha, drop_transposes];
            for step in steps {
                // A step may insert nodes around the Gemm; the next run continues.
                if graph.nodes.len() == nodes && step(graph, index, &gemm)? {
                    changed = true;
                    break;
                }
            }
        }
        index += 1;
    }
    Ok(changed)
}

fn set(graph: &mut Graph, index: usize, gemm: Gemm) {
    graph.nodes[index].op = gemm.into();
}

fn addend(graph: &Graph, index: usize) -> Option<ValueId> {
    graph.nodes[index].inputs.get(2).copied()
}

/// Folds `beta` into a constant addend; removes an addend with factor 0.
fn fold_beta(graph: &mut Graph, index: usize, gemm: &Gemm) -> Result<bool, PassError> {
    if gemm.beta == 1.0 {
        return Ok(false);
    }
    match addend(graph, index) {
        None => {}
        Some(c) => {
            let Some(values) = floats(graph, c) else { return Ok(false) };
            let scaled = values.iter().map(|c| gemm.beta * c).collect();
            let (shape, base) = (graph.shape(c).to_vec(), graph.value(c).name.clone());
            let scaled = add_floats(graph, &base, shape, scaled)?;
            graph.nodes[index].inputs[2] = scaled;
        }
    }
    set(graph, index, Gemm { beta: 1.0, ..gemm.clone() });
    Ok(true)
}

/// Turns an addend that differs by row, or is not constant, into a separate addition.
fn split_addend(graph: &mut Graph, index: usize, gemm: &Gemm) -> Result<bool, PassError> {
    let Some(c) = addend(graph, index).filter(|_| gemm.beta == 1.0) else { return Ok(false) };
    let by_column = matches!(graph.shape(c), [] | [_] | [1, _]);
    if by_column && floats(graph, c).is_some() {
        return Ok(false);
    }
    let node = graph.nodes[index].clone();
    let product = make_node(graph, &node.name, node.op, node.inputs[..2].to_vec())?;
    let inputs = vec![product.outputs[0], c];
    let op = Binary { kind: BinaryKind::Add }.into();
    let name = format!("{}_add", node.name);
    graph.nodes[index] = Node { name, op, inputs, outputs: node.outputs };
    insert_nodes(graph, vec![(index, product)]);
    Ok(true)
}

/// Spreads a constant addend to one element per column.
fn spread_addend(graph: &mut Graph, index: usize, _gemm: &Gemm) -> Result<bool, PassError> {
    let Some(c) = addend(graph, index) else { return Ok(false) };
    let columns = graph.shape(graph.nodes[index].outputs[0])[1];
    let shape = graph.shape(c);
    let Some(values) = floats(graph, c).filter(|_| shape != [columns] && matches!(shape, [] | [_] | [1, _]))
    else {
        return Ok(false);
    };
    let spread = gather_strided(values, 0, &[1, columns], &broadcast_strides(shape, &[1, columns]));
    let base = graph.value(c).name.clone();
    let spread = add_floats(graph, &base, vec![columns], spread)?;
    graph.state_alike(c, spread);
    graph.nodes[index].inputs[2] = spread;
    Ok(true)
}

/// Folds `alpha` into a constant right matrix.
fn fold_alpha(graph: &mut Graph, index: usize, gemm: &Gemm) -> Result<bool, PassError> {
    let b = graph.nodes[index].inputs[1];
    let Some(values) = floats(graph, b).filter(|_| gemm.alpha != 1.0) else { return Ok(false) };
    let scaled = values.iter().map(|b| gemm.alpha * b).collect();
    let (shape, base) = (graph.shape(b).to_vec(), graph.value(b).name.clone());
    let scaled = add_floats(graph, &base, shape, scaled)?;
    graph.nodes[index].inputs[1] = scaled;
    set(graph, index, Gemm { alpha: 1.0, ..gemm.clone() });
    Ok(true)
}

/// Transposes constant operands; inserts transpositions before the Gemm for other operands.
fn drop_transposes(graph: &mut Graph, index: usize, gemm: &Gemm) -> Result<bool, PassError> {
    let mut inserted = Vec::new();
    for (i, transposed) in [gemm.trans_a, gemm.trans_b].into_iter().enumerate() {
        if transposed {
            let operand = graph.nodes[index].inputs[i];
            graph.nodes[index].inputs[i] = swapped(graph, operand, index, &mut inserted)?;
        }
    }
    set(graph, index, Gemm { trans_a: false, trans_b: false, ..gemm.clone() });
    insert_nodes(graph, inserted);
    Ok(gemm.trans_a || gemm.trans_b)
}

/// Returns the matrix with its axes swapped, for the node at `index`.
fn swapped(
    graph: &mut Graph,
    matrix: ValueId,
    index: usize,
    inserted: &mut Vec<(usize, Node)>,
) -> Result<ValueId, PassError> {
    let op: Op = Transpose { perm: vec![1, 0] }.into();
    let base = graph.value(matrix).name.clone();
    if let Some(constant) = tensor(graph, matrix) {
        let constant = compute(&op, &base, &[&constant])?;
        let name = graph.fresh_name(&base);
        let swapped = graph.add_constant(name, constant);
        graph.state_alike(matrix, swapped);
        return Ok(swapped);
    }
    let node = make_node(graph, &base, op, vec![matrix])?;
    let output = node.outputs[0];
    inserted.push((index, node));
    Ok(output)
}
