//! TopK: the count is an attribute before opset 10, and an operand since.

use npukit_graph::ValueId;
use npukit_graph::op::TopK;

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "X")?;
    let axis = Context::axis("axis", context.attributes.int_or("axis", -1)?, context.shape(x).len())?;
    let stated = match context.opset {
        ..10 => context.attributes.int("k")?.map(|k| vec![k]),
        _ => context.integers(1, "K")?,
    };
    let k = match stated.ok_or(Reason::OperandMissing { operand: "K" })?[..] {
        [k] => usize::try_from(k).map_err(|_| unsupported("K", k, "0 or more"))?,
        ref other => return Err(unsupported("K", other, "one integer")),
    };
    let largest = context.attributes.flag("largest", true)?;
    // Unsorted results may be sorted, so the flag has no effect.
    context.attributes.flag("sorted", true)?;
    context.emit_all(TopK { axis, k, largest }, vec![x])
}
