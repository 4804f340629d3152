//! MaxPool and AvgPool; an average ignores padding.

use npukit_graph::ValueId;
use npukit_graph::op::{AveragePool, MaxPool, Op};

use super::super::context::Context;
use super::super::error::Reason;
use super::super::image::{Layout, pool_window};

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let layout = Layout::of(context)?;
    let x = context.input(0, "value")?;
    let x = layout.to_nhwc(context, x, "value")?;
    let window = pool_window(context, layout, x)?;
    let op: Op = match context.op() {
        "AvgPool" => AveragePool { window, count_include_pad: false }.into(),
        _ => MaxPool { window }.into(),
    };
    let y = context.emit(op, vec![x])?;
    Ok(vec![layout.restore(context, y)?])
}
