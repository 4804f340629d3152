//! Gather: elements at indices along an axis.

use npukit_graph::ValueId;
use npukit_graph::op::Gather;

use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (data, indices) = (context.input(0, "data")?, context.input(1, "indices")?);
    let rank = context.shape(data).len();
    let axis = Context::axis("axis", context.attributes.int_or("axis", 0)?, rank)?;
    // Inference examines every constant index. A file that uses one long list many times must not
    // cost more than its size.
    if context.is_constant(indices) {
        let shape = context.shape(indices).to_vec();
        context.reserve(&shape)?;
    }
    Ok(vec![context.emit(Gather { axis }, vec![data, indices])?])
}
