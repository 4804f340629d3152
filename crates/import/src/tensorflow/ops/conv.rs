//! Conv2D. If the weights have fewer input channels than the image, it has groups.

use npukit_graph::ValueId;
use npukit_graph::op::Conv;

use super::super::context::Context;
use super::super::error::Reason;
use super::super::image::{Layout, require_rank_4, window};

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let layout = Layout::of(context)?;
    context.attributes.without_effect("use_cudnn_on_gpu");
    let (x, weights) = (context.input(0, "input")?, context.input(1, "filter")?);
    require_rank_4(context, weights, "filter")?;
    let x = layout.to_nhwc(context, x, "input")?;
    let (image, kernel) = (context.shape(x).to_vec(), context.shape(weights).to_vec());
    let group = match image[3].checked_rem(kernel[2]) {
        Some(0) => (image[3] / kernel[2]).max(1),
        _ => 1, // The graph's inference reports the mismatch.
    };
    let window = window(context, layout, [kernel[0], kernel[1]], [image[1], image[2]])?;
    let op = Conv { strides: window.strides, dilations: window.dilations, pads: window.pads, group };
    let y = context.emit(op.clone(), vec![x, weights])?;
    context.blocks.convolved(x, y, &op, weights);
    Ok(vec![layout.restore(context, y)?])
}
