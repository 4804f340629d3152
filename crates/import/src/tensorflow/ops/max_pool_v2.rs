//! MaxPoolV2: sizes and strides of the windows are operands.

use npukit_graph::ValueId;
use npukit_graph::op::MaxPool;

use super::super::context::Context;
use super::super::error::Reason;
use super::super::image::{Layout, window_of};

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let layout = Layout::of(context)?;
    let x = context.input(0, "input")?;
    let x = layout.to_nhwc(context, x, "input")?;
    let kernel = context.required_integers(1, "ksize")?;
    let strides = context.required_integers(2, "strides")?;
    let kernel = layout.sizes("ksize", &kernel)?;
    let strides = layout.sizes("strides", &strides)?;
    let image = [context.shape(x)[1], context.shape(x)[2]];
    let window = window_of(context, layout, kernel, strides, image)?;
    let y = context.emit(MaxPool { window }, vec![x])?;
    Ok(vec![layout.restore(context, y)?])
}
