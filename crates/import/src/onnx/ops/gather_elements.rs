//! GatherElements.

use npukit_graph::ValueId;
use npukit_graph::op::GatherElements;

use super::super::context::Context;
use super::super::error::Reason;

/// Translates one node.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (data, indices) = (context.input(0, "data")?, context.input(1, "indices")?);
    let rank = context.shape(data).len();
    let axis = Context::axis("axis", context.attributes.int_or("axis", 0)?, rank)?;
    Ok(vec![context.emit(GatherElements { axis }, vec![data, indices])?])
}
