//! Reshape: -1 is the remaining size.

use npukit_graph::ValueId;
use npukit_graph::op::Reshape;

use super::super::context::Context;
use super::super::error::Reason;
use crate::shape;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "tensor")?;
    let stated = context.required_integers(1, "shape")?;
    let shape = shape::resolve(context.shape(x), &stated, true)?;
    Ok(vec![context.emit(Reshape { shape }, vec![x])?])
}
