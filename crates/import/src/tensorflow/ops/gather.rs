//! Gather and GatherV2: elements at indices along an axis.

use npukit_graph::ValueId;
use npukit_graph::op::Gather;

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (data, indices) = (context.input(0, "params")?, context.input(1, "indices")?);
    let rank = context.shape(data).len();
    context.attributes.without_effect("validate_indices");
    let axis = if context.op() == "GatherV2" { context.axis_operand(2, "axis", rank)? } else { 0 };
    if let Some(axes) = context.attributes.int("batch_dims")?.filter(|&axes| axes != 0) {
        return Err(unsupported("batch_dims", axes, "0"));
    }
    // Inference examines every constant index. A file that uses one long list many times must not
    // cost more than its size.
    if context.is_constant(indices) {
        let shape = context.shape(indices).to_vec();
        context.reserve(&shape)?;
    }
    Ok(vec![context.emit(Gather { axis }, vec![data, indices])?])
}
