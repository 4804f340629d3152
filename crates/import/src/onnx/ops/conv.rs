//! Conv over one to three axes. Constant weights are permuted to HWIO during the import.

use npukit_graph::ValueId;
use npukit_graph::op::{Conv, Pad, PadMode, Reshape};

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;
use super::super::image::{Image, MAX_CROPPED, Windows, image_sizes};
use super::super::volume;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (x, weights) = (context.input(0, "X")?, context.input(1, "W")?);
    let bias = context.optional(2);
    Ok(vec![conv(context, x, weights, bias)?])
}

/// Reads the convolution that the node's attributes describe.
pub(super) fn conv(
    context: &mut Context<'_>,
    x: ValueId,
    weights: ValueId,
    bias: Option<ValueId>,
) -> Result<ValueId, Reason> {
    let kernel = kernel(context, x, weights)?;
    let sizes = image_sizes(context.shape(x)).to_vec();
    let windows = Windows::new(context, &sizes, Some(&kernel), MAX_CROPPED)?;
    let group = group(context, x)?;
    if windows.axes.len() == 3 {
        return volume::conv(context, [x, weights], bias, &windows, group);
    }
    let image = Image::new(context, x, "X")?;
    let cropped = match windows.crop() {
        Some([rows, columns]) => {
            let op = Pad { pads: vec![[0; 2], rows, columns, [0; 2]], mode: PadMode::Constant(0.0) };
            context.helper("crop", op, vec![image.value])?
        }
        None => image.value,
    };
    let weights = hwio(context, weights)?;
    let window = windows.image();
    let op = Conv { strides: window.strides, dilations: window.dilations, pads: window.pads, group };
    let operands = [cropped, weights].into_iter().chain(bias).collect();
    let y = context.emit(op, operands)?;
    image.restore(context, y)
}

/// Sizes of the kernel: the weights' axes after the first two. Their number must match the
/// operand's.
pub(super) fn kernel(context: &Context<'_>, x: ValueId, weights: ValueId) -> Result<Vec<usize>, Reason> {
    let (shape, kernel) = (context.shape(weights), image_sizes(context.shape(weights)));
    let rank = context.shape(x).len();
    if shape.len() == rank && matches!(rank, 3..=5) && !kernel.contains(&0) {
        return Ok(kernel.to_vec());
    }
    let (operand, shape, legal) = match rank {
        3..=5 => ("W", shape, format!("{rank} axes, the last {} of 1 or more", rank - 2)),
        _ => {
            let legal = "[n, c, w], [n, c, h, w] or [n, c, d, h, w]: convolutions are over one to three axes";
            ("X", context.shape(x), legal.to_owned())
        }
    };
    Err(Reason::OperandValue { operand, found: format!("{shape:?}"), legal })
}

/// Reads attribute `group`, which must divide the channels of `x` (axis 1).
pub(super) fn group(context: &mut Context<'_>, x: ValueId) -> Result<usize, Reason> {
    let group = context.attributes.int_or("group", 1)?;
    // Default: an operand without a channel axis has 0 channels, which no group divides.
    let channels = context.shape(x).get(1).copied().unwrap_or_default();
    let known = usize::try_from(group).ok().filter(|group| (1..=channels).contains(group));
    known.ok_or_else(|| unsupported("group", group, "1 to the channels of the operand"))
}

/// Permutes weights `[co, ci / group, kh, kw]` or `[co, ci / group, kw]` to the graph's layout.
fn hwio(context: &mut Context<'_>, weights: ValueId) -> Result<ValueId, Reason> {
    let &[co, ci, columns] = context.shape(weights) else {
        return context.permute(weights, &[2, 3, 1, 0], "hwio");
    };
    let weights = context.permute(weights, &[2, 1, 0], "wio")?;
    context.helper("hwio", Reshape { shape: vec![1, columns, ci, co] }, vec![weights])
}
