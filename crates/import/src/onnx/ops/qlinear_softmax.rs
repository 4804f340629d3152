//! QLinearSoftmax of ONNX Runtime: Softmax on real numbers, as defined by the opset in attribute
//! `opset`.

use npukit_graph::ValueId;
use npukit_graph::op::Softmax;

use super::super::context::Context;
use super::super::error::Reason;
use super::super::quantized::{operand, places, quantized};

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let opset = context.attributes.int("opset")?.ok_or(Reason::AttributeMissing { name: "opset" })?;
    let stated = context.attributes.int_or("axis", if opset < 13 { 1 } else { -1 })?;
    let x = operand(context, places(0, ["X", "X_scale", "x_zero_point"]), 0)?;
    let rank = context.shape(x).len();
    let axis = Context::axis("axis", stated, rank)?;
    // Before opset 13, all axes starting at `axis` are flattened.
    let axis_end = if opset < 13 { rank } else { axis + 1 };
    let y = context.emit(Softmax { axis, axis_end }, vec![x])?;
    Ok(vec![quantized(context, y, 3)?])
}
