//! CumSum and CumProd: running sum and product along an axis.

use npukit_graph::ValueId;
use npukit_graph::op::Cumulative;

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "x")?;
    let axis = match context.integers(1, "axis")?.ok_or(Reason::OperandMissing { operand: "axis" })?[..] {
        [axis] => Context::axis("axis", axis, context.shape(x).len())?,
        ref other => return Err(unsupported("axis", other, "one integer")),
    };
    let exclusive = context.attributes.flag("exclusive", false)?;
    let reverse = context.attributes.flag("reverse", false)?;
    let product = context.op_type() == "CumProd";
    Ok(vec![context.emit(Cumulative { axis, product, exclusive, reverse }, vec![x])?])
}
