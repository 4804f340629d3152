//! Softmax and LogSoftmax: over all axes starting at `axis` before opset 13, over `axis` only
//! since.

use npukit_graph::ValueId;
use npukit_graph::op::{LogSoftmax, Softmax};

use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "input")?;
    let rank = context.shape(x).len();
    let default = if context.opset < 13 { 1 } else { -1 };
    let stated = context.attributes.int_or("axis", default)?;
    let axis = Context::axis("axis", stated, rank)?;
    let axis_end = if context.opset < 13 { rank } else { axis + 1 };
    let result = match context.op_type() {
        "LogSoftmax" => context.emit(LogSoftmax { axis, axis_end }, vec![x])?,
        _ => context.emit(Softmax { axis, axis_end }, vec![x])?,
    };
    Ok(vec![result])
}
