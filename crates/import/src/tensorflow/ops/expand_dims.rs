//! ExpandDims: inserts an axis of size 1.

use npukit_graph::ValueId;
use npukit_graph::op::Reshape;

use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "input")?;
    let mut shape = context.shape(x).to_vec();
    // The axis refers to the result.
    let axis = context.axis_operand(1, "dim", shape.len() + 1)?;
    shape.insert(axis, 1);
    let y = context.emit(Reshape { shape }, vec![x])?;
    context.blocks.inserted(x, y, axis);
    Ok(vec![y])
}
