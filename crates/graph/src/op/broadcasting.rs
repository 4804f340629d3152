//! NumPy broadcasting, shared by elementwise operators of several operands.

use npukit_numeric::{Tensor, TensorData};

use super::operands::{Operands, map_data};
use super::{OpError, Operator};
use crate::shape::{broadcast, broadcast_strides, gather_strided};

/// Returns the shape that all operands broadcast to.
pub(super) fn common_shape(op: &dyn Operator, operands: &Operands<'_>) -> Result<Vec<usize>, OpError> {
    (1..operands.len()).try_fold(operands.shape(0).to_vec(), |left, i| {
        let right = operands.shape(i);
        broadcast(&left, right).ok_or_else(|| OpError::Shapes { op: op.name(), left, right: right.to_vec() })
    })
}

/// Returns the elements of `tensor` broadcast to `shape`.
pub(super) fn spread(tensor: &Tensor, shape: &[usize]) -> TensorData {
    if tensor.shape() == shape {
        return tensor.data().clone();
    }
    let strides = broadcast_strides(tensor.shape(), shape);
    map_data!(tensor.data(), values => gather_strided(values, 0, shape, &strides))
}

/// Applies a function to pairs of elements.
pub(super) fn zip<T: Copy, R>(left: &[T], right: &[T], function: impl Fn(T, T) -> R) -> Vec<R> {
    left.iter().zip(right).map(|(&left, &right)| function(left, right)).collect()
}
