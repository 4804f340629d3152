//! Conv2DBackpropInput, the transposed convolution. Its padding is defined by the convolution from
//! the result's size to the operand's.

use npukit_graph::ValueId;
use npukit_graph::op::{ConvTranspose, Window};

use super::super::context::Context;
use super::super::error::Reason;
use super::super::image::{Layout, require_rank_4, window};
use crate::shape::shape;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let layout = Layout::of(context)?;
    context.attributes.without_effect("use_cudnn_on_gpu");
    let sizes = shape(&context.required_integers(0, "input_sizes")?)?;
    let (weights, x) = (context.input(1, "filter")?, context.input(2, "out_backprop")?);
    require_rank_4(context, weights, "filter")?;
    let x = layout.to_nhwc(context, x, "out_backprop")?;
    let (from, kernel) = (context.shape(x).to_vec(), context.shape(weights).to_vec());
    let size = layout.image(&sizes).ok_or_else(|| wrong_size(&sizes, "rows and columns of an image"))?;
    let window = window(context, layout, [kernel[0], kernel[1]], size)?;
    if window.output(size)? != [from[1], from[2]] {
        let legal = format!("a size that the convolution takes to {:?}", [from[1], from[2]]);
        return Err(wrong_size(&sizes, &legal));
    }
    let op = transposed(&window, size, [from[1], from[2]]);
    // [kh, kw, channels of the result, channels of the operand] to the layout of the graph.
    let weights = context.permute(weights, &[0, 1, 3, 2], "transposed")?;
    let y = context.emit(op, vec![x, weights])?;
    Ok(vec![layout.restore(context, y)?])
}

/// Returns the transposed convolution from an image `from` to one of `size`.
fn transposed(window: &Window, size: [usize; 2], from: [usize; 2]) -> ConvTranspose {
    let (strides, dilations) = (window.strides, window.dilations);
    let mut op = ConvTranspose { strides, dilations, pads: window.pads, output_padding: [0; 2], group: 1 };
    for axis in 0..2 {
        let reach = (window.kernel[axis] - 1) * dilations[axis] + 1;
        // Rows from the first to the last that a kernel reaches, without the cropped rows above.
        let all = (from[axis].saturating_sub(1) * strides[axis] + reach).saturating_sub(op.pads[axis]);
        op.pads[axis + 2] = all.saturating_sub(size[axis]);
        op.output_padding[axis] = size[axis].saturating_sub(all);
    }
    op
}

fn wrong_size(found: &[usize], legal: &str) -> Reason {
    Reason::OperandValue { operand: "input_sizes", found: format!("{found:?}"), legal: legal.to_owned() }
}
