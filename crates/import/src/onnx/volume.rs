//! Convolutions over three axes, as convolutions over images. The images are slices along the first
//! axis.

use npukit_graph::ValueId;
use npukit_graph::op::{
    BinaryKind, Concat, Conv, ConvTranspose, Pad, PadMode, Reshape, Slice, SliceRange, Transpose,
};

use super::attributes::unsupported;
use super::context::Context;
use super::error::Reason;
use super::image::{WindowAxis, Windows};

/// Convolution of `x [n, c, d, h, w]` by `weights [co, ci / group, kd, kh, kw]`. The slices that a
/// window covers become channels of one image, side by side within each group.
pub(super) fn conv(
    context: &mut Context<'_>,
    [x, weights]: [ValueId; 2],
    bias: Option<ValueId>,
    windows: &Windows,
    group: usize,
) -> Result<ValueId, Reason> {
    let &[depth, rows, columns] = &windows.axes[..] else { return Err(not_a_volume(context, x)) };
    let channels = context.shape(x).get(1).copied().filter(|channels| channels.is_multiple_of(group));
    let channels = channels.ok_or_else(|| unsupported("group", group, "a divisor of the channels"))?;
    let x = context.permute(x, &[0, 2, 3, 4, 1], "ndhwc")?;
    let crop = |axis: WindowAxis| axis.pads.map(|pad| pad.min(0) as isize);
    let pads = vec![[0; 2], depth.pads.map(|pad| pad as isize), crop(rows), crop(columns), [0; 2]];
    let x = match pads.iter().all(|pads| *pads == [0; 2]) {
        true => x,
        false => context.helper("padded", Pad { pads, mode: PadMode::Constant(0.0) }, vec![x])?,
    };
    let &[n, padded, h, w, _] = context.shape(x) else { return Err(not_a_volume(context, x)) };
    let reach = (depth.kernel - 1) * depth.dilation + 1;
    let room =
        padded.checked_sub(reach).ok_or_else(|| unsupported("kernel", reach, format!("at most {padded}")))?;
    let slices = room / depth.stride + 1;
    context.reserve_results(depth.kernel)?;
    let mut taps = Vec::with_capacity(depth.kernel);
    for tap in 0..depth.kernel {
        let step = if slices == 1 { 1 } else { depth.stride as isize };
        let range = SliceRange { axis: 1, start: tap * depth.dilation, length: slices, step };
        let part = context.helper("tap", Slice { ranges: vec![range] }, vec![x])?;
        taps.push(context.reshape(part, vec![n * slices, h, w, group, channels / group])?);
    }
    let image = if let [tap] = taps[..] { tap } else { context.helper("taps", Concat { axis: 4 }, taps)? };
    let image = context.reshape(image, vec![n * slices, h, w, depth.kernel * channels])?;
    let weights = hwio(context, weights)?;
    let window = windows.image();
    let op = Conv { strides: window.strides, dilations: window.dilations, pads: window.pads, group };
    let y = context.emit(op, [image, weights].into_iter().chain(bias).collect())?;
    restore(context, y, n)
}

/// Permutes weights `[co, ci, kd, kh, kw]` to `[kh, kw, kd * ci, co]`.
fn hwio(context: &mut Context<'_>, weights: ValueId) -> Result<ValueId, Reason> {
    let &[co, ci, kd, kh, kw] = context.shape(weights) else { return Err(not_a_volume(context, weights)) };
    let weights = context.permute(weights, &[3, 4, 2, 1, 0], "hwdio")?;
    context.helper("hwio", Reshape { shape: vec![kh, kw, kd * ci, co] }, vec![weights])
}

/// Transposed convolution of `x [n, c, d, h, w]`: each slice convolved by each slice of the kernel,
/// which `taps` makes, and summed where they overlap. `op` is the convolution of the slices. `size`
/// is the result's size and `depth` the window, both along the first axis.
pub(super) fn conv_transpose(
    context: &mut Context<'_>,
    x: ValueId,
    bias: Option<ValueId>,
    op: &ConvTranspose,
    depth: WindowAxis,
    size: usize,
    taps: impl Fn(&mut Context<'_>, usize) -> Result<ValueId, Reason>,
) -> Result<ValueId, Reason> {
    let &[n, c, d, h, w] = context.shape(x) else { return Err(not_a_volume(context, x)) };
    let x = context.permute(x, &[0, 2, 3, 4, 1], "ndhwc")?;
    let slices = context.reshape(x, vec![n * d, h, w, c])?;
    context.reserve_results(depth.kernel)?;
    let (mut sum, mut image) = (None, Vec::new());
    for tap in 0..depth.kernel {
        // The first slice is placed here; the others follow at the distance of the stride.
        let before = (tap * depth.dilation) as isize - depth.pads[0] as isize;
        let length = d * depth.stride;
        if before + length as isize <= 0 || before >= size as isize {
            continue;
        }
        let weights = taps(context, tap)?;
        let y = context.emit(op.clone(), vec![slices, weights])?;
        image = context.shape(y)[1..].to_vec();
        let inner: usize = image.iter().product();
        let y = context.reshape(y, vec![n, d, 1, inner])?;
        let apart = vec![[0; 2], [0; 2], [0, depth.stride as isize - 1], [0; 2]];
        let y = context.helper("apart", Pad { pads: apart, mode: PadMode::Constant(0.0) }, vec![y])?;
        let y = context.reshape(y, vec![n, length, inner])?;
        let pads = vec![[0; 2], [before, size as isize - before - length as isize], [0; 2]];
        let y = context.helper("placed", Pad { pads, mode: PadMode::Constant(0.0) }, vec![y])?;
        sum = Some(match sum {
            None => y,
            Some(sum) => context.binary(BinaryKind::Add, sum, y)?,
        });
    }
    let sum = sum.ok_or_else(|| unsupported("pads", depth.pads, "less than the result has"))?;
    let mut y = context.reshape(sum, [&[n * size], &image[..]].concat())?;
    if let Some(bias) = bias {
        y = context.binary(BinaryKind::Add, y, bias)?;
    }
    restore(context, y, n)
}

/// Permutes slices `[n * d, h, w, c]` to `[n, c, d, h, w]`.
fn restore(context: &mut Context<'_>, y: ValueId, n: usize) -> Result<ValueId, Reason> {
    let &[slices, h, w, c] = context.shape(y) else { return Err(not_a_volume(context, y)) };
    let volume = vec![n, slices / n.max(1), h, w, c];
    let y = context.helper("volume", Reshape { shape: volume }, vec![y])?;
    context.helper("ncdhw", Transpose { perm: vec![0, 4, 1, 2, 3] }, vec![y])
}

fn not_a_volume(context: &Context<'_>, x: ValueId) -> Reason {
    let (found, legal) = (format!("{:?}", context.shape(x)), "[n, c, d, h, w]".to_owned());
    Reason::OperandValue { operand: "X", found, legal }
}
