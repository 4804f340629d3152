//! DepthwiseConv2dNative: weights `[kh, kw, channels, multiplier]`, one group per channel.

use npukit_graph::ValueId;
use npukit_graph::op::Conv;

use super::super::context::Context;
use super::super::error::Reason;
use super::super::image::{Layout, require_rank_4, window};

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let layout = Layout::of(context)?;
    let (x, weights) = (context.input(0, "input")?, context.input(1, "filter")?);
    require_rank_4(context, weights, "filter")?;
    let x = layout.to_nhwc(context, x, "input")?;
    let (image, kernel) = (context.shape(x).to_vec(), context.shape(weights).to_vec());
    if kernel[2] != image[3] {
        let legal = format!("{} channels, as the input", image[3]);
        return Err(Reason::OperandValue { operand: "filter", found: format!("{kernel:?}"), legal });
    }
    let window = window(context, layout, [kernel[0], kernel[1]], [image[1], image[2]])?;
    // The results of a channel are adjacent in both forms.
    let flat = vec![kernel[0], kernel[1], 1, kernel[2] * kernel[3]];
    let weights = context.reshaped("weights", weights, flat)?;
    let (strides, dilations, pads) = (window.strides, window.dilations, window.pads);
    let op = Conv { strides, dilations, pads, group: image[3] };
    let y = context.emit(op.clone(), vec![x, weights])?;
    context.blocks.convolved(x, y, &op, weights);
    Ok(vec![layout.restore(context, y)?])
}
