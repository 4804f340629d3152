//! Matrix product with NumPy batching.

use npukit_numeric::Tensor;
use serde::{Deserialize, Serialize};

use super::operands::{Operands, build_floats, floats, infer_tensors, result, tensor};
use super::{OpError, Operator};
use crate::ir::{Value, ValueInfo};
use crate::product::{Layout, PackedMatrix};
use crate::shape::{broadcast, broadcast_strides, elements, gather_strided};

/// The product of the matrices in the last two axes, `[.., m, k]` and `[.., k, n]`, to `[.., m,
/// n]`; the axes before them broadcast. A vector `[k]` is a single row on the left and a single
/// column on the right; that axis is removed from the result.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MatMul;

impl Operator for MatMul {
    fn name(&self) -> &'static str {
        "MatMul"
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        let operands = Operands::new(self, inputs, 2, 2)?;
        let left = operands.floats(0, "first operand", 1, usize::MAX)?;
        let right = operands.floats(1, "second operand", 1, usize::MAX)?;
        let shapes = Shapes::new(left, right);
        operands.size("inner size of the second operand", shapes.k, shapes.depth)?;
        let batch = shapes.batch().ok_or_else(|| OpError::Shapes {
            op: self.name(),
            left: left.to_vec(),
            right: right.to_vec(),
        })?;
        let rows = (left.len() > 1).then_some(shapes.m);
        let columns = (right.len() > 1).then_some(shapes.n);
        result(batch.into_iter().chain(rows).chain(columns).collect(), operands.info(0).element)
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        let infos = infer_tensors(self, inputs)?;
        let (left, right) = (tensor(self, inputs, 0)?, tensor(self, inputs, 1)?);
        let shapes = Shapes::new(left.shape(), right.shape());
        let mut data = vec![0.0; elements(&infos[0].shape)?];
        if data.is_empty() {
            return build_floats(self, &infos, data);
        }
        let batch = shapes.batch().expect("inference checks that batches broadcast");
        let (lefts, rights) = (matrices(&shapes.left, &batch), matrices(&shapes.right, &batch));
        let a = floats(self, inputs, 0, "first operand")?;
        let b = floats(self, inputs, 1, "second operand")?;
        let Shapes { m, k, n, .. } = shapes;
        let mut packed: Option<(usize, PackedMatrix)> = None;
        for ((left, right), out) in lefts.into_iter().zip(rights).zip(data.chunks_mut(m * n)) {
            // Batches usually share the right matrix, which is then packed once.
            let matrix = match packed.take() {
                Some((index, matrix)) if index == right => matrix,
                _ => PackedMatrix::new(&b[right * k * n..][..k * n], k, n, Layout::row_major(n)),
            };
            matrix.multiply(&a[left * m * k..][..m * k], out, n);
            packed = Some((right, matrix));
        }
        build_floats(self, &infos, data)
    }
}

/// Operands as stacks of matrices `[.., m, k]` and `[.., depth, n]`. A vector is a single row on
/// the left and a single column on the right.
struct Shapes {
    left: Vec<usize>,
    right: Vec<usize>,
    m: usize,
    k: usize,
    depth: usize,
    n: usize,
}

impl Shapes {
    /// Both shapes must have at least one axis.
    fn new(left: &[usize], right: &[usize]) -> Self {
        let (left, m, k) = match left {
            [batch @ .., m, k] => (batch.to_vec(), *m, *k),
            _ => (Vec::new(), 1, left.iter().product()),
        };
        let (right, depth, n) = match right {
            [batch @ .., depth, n] => (batch.to_vec(), *depth, *n),
            _ => (Vec::new(), right.iter().product(), 1),
        };
        Self { left, right, m, k, depth, n }
    }

    fn batch(&self) -> Option<Vec<usize>> {
        broadcast(&self.left, &self.right)
    }
}

/// Returns, for each element of `batch`, the index of the matrix that it reads in a stack of shape
/// `own`.
fn matrices(own: &[usize], batch: &[usize]) -> Vec<usize> {
    let indices: Vec<usize> = (0..own.iter().product()).collect();
    gather_strided(&indices, 0, batch, &broadcast_strides(own, batch))
}
