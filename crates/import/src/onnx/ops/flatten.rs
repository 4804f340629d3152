//! Flatten to two axes: the axes before `axis`, and the others.

use npukit_graph::ValueId;
use npukit_graph::op::Reshape;

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "input")?;
    let axis = context.attributes.int_or("axis", 1)?;
    let shape = context.shape(x);
    let rank = shape.len() as i64;
    // The axis may equal the rank: then all axes are before it.
    if !(-rank..=rank).contains(&axis) {
        return Err(unsupported("axis", axis, format!("{} to {rank}", -rank)));
    }
    let axis = if axis < 0 { axis + rank } else { axis } as usize;
    let (before, after) = shape.split_at(axis);
    let shape = vec![before.iter().product(), after.iter().product()];
    Ok(vec![context.emit(Reshape { shape }, vec![x])?])
}
