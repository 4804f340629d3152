//! DequantizeLinear: one scale, scales along an axis (since opset 13) or per block (since opset
//! 21).

use npukit_graph::ValueId;
use npukit_graph::op::DequantizeLinear;

use super::super::context::Context;
use super::super::error::Reason;
use super::quantize_linear::{axis_and_block, type_attribute};

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (x, scale) = (context.input(0, "x")?, context.input(1, "x_scale")?);
    let zero_point = context.optional(2);
    let to = type_attribute(context, "output_dtype")?.unwrap_or_else(|| context.element(scale));
    let (axis, block) = axis_and_block(context, x, scale)?;
    let op = DequantizeLinear { to, axis, block };
    Ok(vec![context.emit(op, [x, scale].into_iter().chain(zero_point).collect())?])
}
