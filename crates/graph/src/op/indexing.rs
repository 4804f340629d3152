//! Helpers of operators that select or replace elements by index.

use npukit_numeric::{ElementType, Tensor, TensorData};

use super::operands::{Operands, map_data};
use super::{OpError, Operator};

/// Checks that operand 1 holds indices; returns the shapes of the data and of the indices.
pub(super) fn data_and_indices<'a>(operands: &Operands<'a>) -> Result<(&'a [usize], &'a [usize]), OpError> {
    operands.element(1, "indices", &[ElementType::I64, ElementType::I32])?;
    operands.rank(0, "data", 1, usize::MAX)?;
    Ok((operands.shape(0), operands.rank(1, "indices", 1, usize::MAX)?))
}

/// Returns the elements of a tensor that inference checked to hold integers.
pub(super) fn indices(tensor: &Tensor) -> Vec<i64> {
    match tensor.data() {
        TensorData::I64(values) => values.clone(),
        TensorData::I32(values) => values.iter().map(|&value| i64::from(value)).collect(),
        TensorData::F32(_) | TensorData::Bool(_) => Vec::new(),
    }
}

/// Converts an index to a position on an axis of `size` elements; negative indices count from the
/// end.
pub(super) fn position(op: &dyn Operator, axis: usize, index: i64, size: usize) -> Result<usize, OpError> {
    let from_start = if index < 0 { index.saturating_add(size as i64) } else { index };
    let position = usize::try_from(from_start).ok().filter(|&position| position < size);
    position.ok_or(OpError::Index { op: op.name(), axis, index, size })
}

/// Returns the offsets of the elements of `shape`, row-major, in a tensor with these strides.
pub(super) fn offsets(shape: &[usize], strides: &[isize]) -> Vec<usize> {
    let axes = shape.iter().zip(strides);
    axes.fold(vec![0], |outer, (&size, &stride)| {
        let along = |start: usize| (0..size).map(move |i| start + i * stride.unsigned_abs());
        outer.into_iter().flat_map(along).collect()
    })
}

/// Returns the elements at these positions, in blocks of `length`.
pub(super) fn pick(data: &TensorData, starts: &[usize], length: usize) -> TensorData {
    map_data!(data, values => {
        starts.iter().flat_map(|&start| &values[start..start + length]).copied().collect()
    })
}

/// Returns the position in the data of the element that each index along `axis` selects. Its other
/// coordinates are the same as for the index.
pub(super) fn along_axis(
    op: &dyn Operator,
    axis: usize,
    shape: &[usize],
    of_indices: &[usize],
    indices: &[i64],
) -> Result<Vec<usize>, OpError> {
    let mut strides = crate::shape::strides(shape);
    let step = std::mem::take(&mut strides[axis]).unsigned_abs();
    let starts = offsets(of_indices, &strides).into_iter().zip(indices);
    starts.map(|(start, &index)| Ok(start + step * position(op, axis, index, shape[axis])?)).collect()
}

/// Returns the start in the data of the block that each index tuple selects. Tuples are along the
/// last axis of the indices; the first `batch` axes are common to both.
pub(super) fn tuples(
    op: &dyn Operator,
    batch: usize,
    shape: &[usize],
    of_indices: &[usize],
    indices: &[i64],
) -> Result<Vec<usize>, OpError> {
    let strides = crate::shape::strides(shape);
    let (outer, width) = (&of_indices[..of_indices.len() - 1], of_indices[of_indices.len() - 1]);
    let common = [&strides[..batch], &vec![0; outer.len() - batch]].concat();
    let start = |(start, tuple): (usize, &[i64])| {
        let axes = (batch..).zip(tuple);
        axes.into_iter().try_fold(start, |start, (axis, &index)| {
            Ok(start + strides[axis].unsigned_abs() * position(op, axis, index, shape[axis])?)
        })
    };
    match width {
        0 => Ok(offsets(outer, &common)),
        _ => offsets(outer, &common).into_iter().zip(indices.chunks(width)).map(start).collect(),
    }
}
