//! Pools over one, two or three image axes: [`pool`] and [`global_pool`].

use npukit_graph::op::{Conv, Reshape, Slice, SliceRange, Transpose, Window};
use npukit_graph::{Op, ValueId};

use super::context::Context;
use super::error::Reason;
use super::image::{Image, Windows, ceil_mode, image_sizes};

/// Pools the windows of `x` that the node's attributes describe. `make` returns the operator for
/// windows over an image.
///
/// Three axes are pooled one after the other, the image first. A maximum of maxima is the maximum;
/// a mean of means is the mean, since its divisor is the product of the axes' divisors.
pub(super) fn pool(
    context: &mut Context<'_>,
    x: ValueId,
    make: impl Fn(Window) -> Op,
) -> Result<ValueId, Reason> {
    over_windows(context, x, |context, x, window| context.emit(make(window), vec![x]))
}

/// Sums the elements in the windows of `x` that the node's attributes describe. A sum is a
/// convolution of each channel with ones. Sums over three axes are sums of sums.
pub(super) fn sums(context: &mut Context<'_>, x: ValueId) -> Result<ValueId, Reason> {
    over_windows(context, x, |context, x, window| {
        let &[_, rows, columns, channels] = context.shape(x) else {
            let (found, legal) = (format!("{:?}", context.shape(x)), "an image".to_owned());
            return Err(Reason::OperandValue { operand: "X", found, legal });
        };
        let weights = context.filled(x, 1.0, &[window.kernel[0], window.kernel[1], 1, channels])?;
        let [strides, dilations] = [window.strides, window.dilations];
        let pads = window.effective_pads([rows, columns])?;
        let output = window.output([rows, columns])?;
        let op = Conv { strides, dilations, pads, group: channels };
        let y = context.emit(op, vec![x, weights])?;
        // Rows and columns at which no window starts are unneeded padding.
        let ranges = [1, 2].map(|axis| SliceRange { axis, start: 0, length: output[axis - 1], step: 1 });
        if context.shape(y)[1..3] == output {
            Ok(y)
        } else {
            context.helper("windows", Slice { ranges: ranges.to_vec() }, vec![y])
        }
    })
}

/// Applies `apply` to the images of `x` and the windows that the node's attributes describe. With
/// three axes, the last two are first.
fn over_windows(
    context: &mut Context<'_>,
    x: ValueId,
    apply: impl Fn(&mut Context<'_>, ValueId, Window) -> Result<ValueId, Reason>,
) -> Result<ValueId, Reason> {
    let shape = context.shape(x).to_vec();
    let windows = Windows::new(context, image_sizes(&shape), None, 0)?;
    let ceil_mode = ceil_mode(context)?;
    let with_ceil = |window: Window| Window { ceil_mode, ..window };
    match (windows.depth(), &shape[..]) {
        (Some(depth), &[n, c, d, h, w]) => {
            let slices = context.permute(x, &[0, 2, 3, 4, 1], "ndhwc")?;
            let slices = context.helper("slices", Reshape { shape: vec![n * d, h, w, c] }, vec![slices])?;
            let y = apply(context, slices, with_ceil(windows.image()))?;
            let (rows, columns) = (context.shape(y)[1], context.shape(y)[2]);
            let shape = vec![n, d, rows * columns, c];
            let y = context.helper("columns", Reshape { shape }, vec![y])?;
            let y = apply(context, y, with_ceil(depth))?;
            let shape = vec![n, context.shape(y)[1], rows, columns, c];
            let y = context.helper("volume", Reshape { shape }, vec![y])?;
            context.helper("ncdhw", Transpose { perm: vec![0, 4, 1, 2, 3] }, vec![y])
        }
        _ => {
            let image = Image::new(context, x, "X")?;
            let y = apply(context, image.value, with_ceil(windows.image()))?;
            image.restore(context, y)
        }
    }
}

/// Pools all elements of each channel of `x`.
pub(super) fn global_pool(
    context: &mut Context<'_>,
    x: ValueId,
    make: impl Fn(Window) -> Op,
) -> Result<ValueId, Reason> {
    let shape = context.shape(x).to_vec();
    let [n, c, first, rest @ ..] = &shape[..] else {
        let legal = "[n, c, ..] with an image axis".to_owned();
        return Err(Reason::OperandValue { operand: "X", found: format!("{shape:?}"), legal });
    };
    // Further axes are merged with the columns.
    let flat = if rest.len() > 1 {
        let shape = vec![*n, *c, *first, rest.iter().product()];
        context.helper("image", Reshape { shape }, vec![x])?
    } else {
        x
    };
    let image = Image::new(context, flat, "X")?;
    let kernel = [context.shape(image.value)[1], context.shape(image.value)[2]];
    let y = context.emit(make(Window::plain(kernel, [1, 1])), vec![image.value])?;
    let y = image.restore(context, y)?;
    if rest.len() < 2 {
        return Ok(y);
    }
    let shape = [vec![*n, *c, 1], vec![1; rest.len()]].concat();
    context.helper("volume", Reshape { shape }, vec![y])
}
