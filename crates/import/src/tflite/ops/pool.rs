//! AVERAGE_POOL_2D, which leaves padding out, and MAX_POOL_2D.

use npukit_graph::ValueId;
use npukit_graph::op::{AveragePool, MaxPool, Op};

use super::super::context::Context;
use crate::error::Reason;

/// Translates one operator.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "input")?;
    let (strides, kernel) = (context.sizes(1, "stride", 0)?, context.sizes(3, "filter", 0)?);
    let window = context.window(x, kernel, strides, [1; 2])?;
    let op: Op = match context.op {
        "MAX_POOL_2D" => MaxPool { window }.into(),
        _ => AveragePool { window, count_include_pad: false }.into(),
    };
    let y = context.emit(op, vec![x])?;
    Ok(vec![context.activated(y, 5)?])
}
