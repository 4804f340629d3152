//! Reshape: 0 copies a size (unless `allowzero`), -1 is the remaining size.

use npukit_graph::ValueId;
use npukit_graph::op::Reshape;

use super::super::context::Context;
use super::super::error::Reason;
use crate::shape;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "data")?;
    let stated = context.integers(1, "shape")?.ok_or(Reason::OperandMissing { operand: "shape" })?;
    let allow_zero = context.attributes.flag("allowzero", false)?;
    let shape = shape::resolve(context.shape(x), &stated, allow_zero)?;
    Ok(vec![context.emit(Reshape { shape }, vec![x])?])
}
