//! ArgMax and ArgMin: index of the largest or smallest element along an axis.

use npukit_graph::ValueId;
use npukit_graph::op::ArgMax;

use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "data")?;
    let rank = context.shape(x).len();
    let axis = Context::axis("axis", context.attributes.int_or("axis", 0)?, rank)?;
    let keep_dims = context.attributes.flag("keepdims", true)?;
    let select_last = context.attributes.flag("select_last_index", false)?;
    let smallest = context.op_type() == "ArgMin";
    Ok(vec![context.emit(ArgMax { smallest, axis, keep_dims, select_last }, vec![x])?])
}
