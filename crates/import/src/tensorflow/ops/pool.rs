//! MaxPool and AvgPool; an average ignores padding. Sizes and strides of MaxPoolV2 are operands.

use npukit_graph::ValueId;
use npukit_graph::op::{AveragePool, MaxPool, Op};

use super::super::context::Context;
use super::super::error::Reason;
use super::super::image::{Layout, pool_window, window_of};

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let layout = Layout::of(context)?;
    let x = context.input(0, "value")?;
    let x = layout.to_nhwc(context, x, "value")?;
    let window = match context.op() {
        "MaxPoolV2" => {
            let kernel = context.required_integers(1, "ksize")?;
            let strides = context.required_integers(2, "strides")?;
            let (kernel, strides) = (layout.sizes("ksize", &kernel)?, layout.sizes("strides", &strides)?);
            let image = [context.shape(x)[1], context.shape(x)[2]];
            window_of(context, layout, kernel, strides, image)?
        }
        _ => pool_window(context, layout, x)?,
    };
    let op: Op = match context.op() {
        "AvgPool" => AveragePool { window, count_include_pad: false }.into(),
        _ => MaxPool { window }.into(),
    };
    let y = context.emit(op, vec![x])?;
    Ok(vec![layout.restore(context, y)?])
}
