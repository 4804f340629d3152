//! AffineGrid: the product of each matrix with the coordinates of a regular grid, which are
//! constants.

use npukit_graph::ValueId;
use npukit_graph::op::{MatMul, Transpose};

use super::super::context::Context;
use super::super::error::Reason;
use super::super::tensor;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let theta = context.input(0, "theta")?;
    let size =
        tensor::shape(&context.integers(1, "size")?.ok_or(Reason::OperandMissing { operand: "size" })?)?;
    let align_corners = context.attributes.flag("align_corners", false)?;
    let axes = size.get(2..).filter(|axes| matches!(axes.len(), 2 | 3));
    let matrix = |axes: &&[usize]| context.shape(theta) == [size[0], axes.len(), axes.len() + 1];
    let Some(axes) = axes.filter(matrix) else {
        let found = format!("{:?} for size {size:?}", context.shape(theta));
        let legal = "[n, 2, 3] for [n, c, h, w] or [n, 3, 4] for [n, c, d, h, w]".to_owned();
        return Err(Reason::OperandValue { operand: "theta", found, legal });
    };
    let (count, width) = (axes.iter().product::<usize>(), axes.len() + 1);
    context.reserve(&[count, width])?;
    let places = places(axes, align_corners);
    let places = context.floats_like(theta, vec![count, width], places)?;
    let columns = context.helper("columns", Transpose { perm: vec![0, 2, 1] }, vec![theta])?;
    let grid = context.emit(MatMul, vec![places, columns])?;
    Ok(vec![context.reshape(grid, [&size[..1], axes, &[axes.len()]].concat())?])
}

/// Coordinates of each element, from -1 to 1, last axis first, followed by a 1.
fn places(axes: &[usize], align_corners: bool) -> Vec<f32> {
    let coordinate = |index: usize, size: usize| match (align_corners, size) {
        (true, 1) => -1.0,
        (true, _) => 2.0 * index as f64 / (size - 1) as f64 - 1.0,
        (false, _) => (2 * index + 1) as f64 / size as f64 - 1.0,
    };
    let mut places = Vec::with_capacity(axes.iter().product::<usize>() * (axes.len() + 1));
    for element in 0..axes.iter().product() {
        let mut rest: usize = element;
        for &size in axes.iter().rev() {
            places.push(coordinate(rest % size, size) as f32);
            rest /= size;
        }
        places.push(1.0);
    }
    places
}
