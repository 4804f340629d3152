//! Clip: bounds are attributes before opset 11, operands from there on.

use npukit_graph::ValueId;
use npukit_graph::op::Clip;

use super::super::context::Context;
use super::super::error::Reason;

/// Translates one node.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "input")?;
    let (min, max) = if context.opset < 11 {
        (context.attributes.float("min")?, context.attributes.float("max")?)
    } else {
        (context.number(1, "min")?, context.number(2, "max")?)
    };
    let op = Clip { min: min.unwrap_or(f32::NEG_INFINITY), max: max.unwrap_or(f32::INFINITY) };
    Ok(vec![context.emit(op, vec![x])?])
}
