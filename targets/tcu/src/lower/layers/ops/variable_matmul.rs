//! Products whose right operand is not a constant matrix. The array takes its weights from local
//! memory, so rows of an activation can be weights.

use npukit_graph::{NodeId, ValueId};

use super::{natural_view, rearrange};
use crate::lower::layers::hir::{Bias, MatMul, Rows, Step, Term, WeightSet};
use crate::lower::layers::{Builder, Chain, Lowered, Reject};
use crate::lower::memory::object::VecRef;
use crate::lower::memory::view::View;

/// Lowers the product of the first two operands, both with any leading axes, as a chain.
///
/// A term is a right matrix and a block of its rows; its inputs are the pixels that this matrix
/// multiplies. Its weights are the vectors of these rows in one block of columns.
///
/// # Errors
///
/// Fails for operands without a view, or products that would list too many vectors.
pub fn lower(builder: &mut Builder, id: NodeId) -> Result<Lowered, Reject> {
    let node = builder.graph.node(id);
    let (left, right) = (node.inputs[0], node.inputs[1]);
    let shapes = Shapes::new(builder.graph.shape(left), builder.graph.shape(right));
    let n = builder.array_size();
    let (k_blocks, blocks) = (shapes.k.div_ceil(n), shapes.n.div_ceil(n));
    let pixels = shapes.matrices.len() * shapes.m;
    builder.require_uses([shapes.right_matrices, k_blocks, pixels.max(blocks * n)])?;
    let left = natural_view(builder, id, left)?;
    let right = rows_view(builder, id, right, &shapes)?;
    let rows = builder.stored(right.vectors);
    let of_pixel = |pixel: usize| (shapes.matrices[pixel / shapes.m], pixel % shapes.m);
    let input = |matrix: usize, k_block: usize, pixel: usize| match of_pixel(pixel) {
        ((l, r), row) if r == matrix => left.vectors[(l * shapes.m + row) * k_blocks + k_block],
        _ => VecRef::ZERO,
    };
    let pairs = || (0..shapes.right_matrices).flat_map(|matrix| (0..k_blocks).map(move |k| (matrix, k)));
    let term = |(matrix, k)| Term { inputs: (0..pixels).map(|pixel| input(matrix, k, pixel)).collect() };
    let set = |block: usize, (matrix, k_block): (usize, usize)| {
        let lanes = k_block * n..shapes.k.min((k_block + 1) * n);
        let rows = lanes.map(|row| rows[(matrix * shapes.k + row) * blocks + block]).collect();
        Some(WeightSet { rows: Rows::Variable(rows), bias: Bias::None })
    };
    let sets = (0..blocks).flat_map(|block| pairs().map(move |pair| (block, pair)));
    let matmul = MatMul {
        terms: pairs().map(term).collect(),
        sets: sets.map(|(block, pair)| set(block, pair)).collect(),
    };
    Ok(Lowered::Chain(Chain {
        nodes: vec![id],
        value: node.outputs[0],
        pixels,
        channels: shapes.n,
        macs: (pixels * shapes.k * shapes.n) as u64,
        steps: vec![Step::MatMul(matmul)],
        saved: false,
    }))
}

/// Returns the right operand with one row per pixel.
fn rows_view(builder: &mut Builder, id: NodeId, value: ValueId, shapes: &Shapes) -> Result<View, Reject> {
    if builder.graph.shape(value).len() > 1 {
        return natural_view(builder, id, value);
    }
    let view = builder.view(value)?;
    rearrange::gather(builder, id, &[shapes.k, 1], |element| Some((&view, element)))
}

/// Sizes of a batched product.
struct Shapes {
    m: usize,
    k: usize,
    n: usize,
    /// Indices of the left and the right matrix of each product.
    matrices: Vec<(usize, usize)>,
    right_matrices: usize,
}

impl Shapes {
    fn new(left: &[usize], right: &[usize]) -> Self {
        let (left_batch, m, k) = match left {
            [batch @ .., m, k] => (batch, *m, *k),
            [k] => (&[][..], 1, *k),
            [] => (&[][..], 1, 1),
        };
        let (right_batch, n) = match right {
            [batch @ .., _, n] => (batch, *n),
            _ => (&[][..], 1),
        };
        let axes = left_batch.len().max(right_batch.len());
        let size = |batch: &[usize], axis: usize| {
            // Default: a missing batch axis has size 1.
            (axis + batch.len()).checked_sub(axes).and_then(|axis| batch.get(axis)).copied().unwrap_or(1)
        };
        let batch: Vec<usize> =
            (0..axes).map(|axis| size(left_batch, axis).max(size(right_batch, axis))).collect();
        let of =
            |index: usize, own: &[usize]| crate::lower::layers::ops::broadcast::broadcast(index, &batch, own);
        let matrices =
            (0..batch.iter().product()).map(|index| (of(index, left_batch), of(index, right_batch)));
        Self { m, k, n, matrices: matrices.collect(), right_matrices: right_batch.iter().product() }
    }
}
