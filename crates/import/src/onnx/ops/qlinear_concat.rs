//! QLinearConcat of ONNX Runtime: the scale of the result, then operands with one scale each.

use npukit_graph::ValueId;
use npukit_graph::op::Concat;

use super::super::context::Context;
use super::super::error::Reason;
use super::super::quantized::{operand, places, quantized};

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let operands = (2..context.operands().max(5))
        .step_by(3)
        .map(|first| operand(context, places(first, ["inputs", "input_scale", "input_zero_point"]), 0))
        .collect::<Result<Vec<_>, _>>()?;
    let axis = context.attributes.int("axis")?.ok_or(Reason::AttributeMissing { name: "axis" })?;
    let rank = operands.first().map_or(0, |&first| context.shape(first).len());
    let axis = Context::axis("axis", axis, rank)?;
    let y = context.emit(Concat { axis }, operands)?;
    Ok(vec![quantized(context, y, 0)?])
}
