//! RMSNormalization: division by the root mean square.

use npukit_graph::ValueId;
use npukit_graph::op::RmsNormalization;

use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (x, scale) = (context.input(0, "X")?, context.input(1, "scale")?);
    let rank = context.shape(x).len();
    let axis = Context::axis("axis", context.attributes.int_or("axis", -1)?, rank)?;
    let epsilon = context.attributes.float_or("epsilon", 1e-5)?;
    context.attributes.without_effect("stash_type"); // we compute in 32-bit floats
    Ok(vec![context.emit(RmsNormalization { axis, epsilon }, vec![x, scale])?])
}
