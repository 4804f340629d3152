//! DeformConv: samples the elements that a convolution multiplies at the offset positions, then
//! convolves single pixels, whose channels are those elements.

use npukit_graph::ValueId;
use npukit_graph::op::{
    BinaryKind, Conv, GridPlaces, GridSample, Outside, Reshape, SampleMode, Slice, SliceRange, Transpose,
};

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;
use super::super::image::{Windows, image_sizes};
use super::conv::{group, kernel};

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (x, weights, offsets) = (context.input(0, "X")?, context.input(1, "W")?, context.input(2, "offset")?);
    let (bias, mask) = (context.optional(3), context.optional(4));
    let kernel = kernel(context, x, weights)?;
    let sizes = image_sizes(context.shape(x)).to_vec();
    let windows = Windows::new(context, &sizes, Some(&kernel), 0)?;
    let group = group(context, x)?;
    let parts = context.attributes.int_or("offset_group", 1)?;
    let (&[n, channels, h, w], &[filters, inner, ..]) = (context.shape(x), context.shape(weights)) else {
        return Err(unsupported("X", context.shape(x), "[n, c, h, w]"));
    };
    let parts = usize::try_from(parts).ok().filter(|&parts| parts > 0 && channels.is_multiple_of(parts));
    let parts = parts.ok_or_else(|| unsupported("offset_group", parts, "a divisor of the channels"))?;
    let [rows, columns] = windows.image().output([h, w])?;
    let taps = kernel.iter().product::<usize>();

    let places = places(context, &windows, [rows, columns])?;
    let places = context.floats_like(x, vec![taps, rows, columns, 2], places)?;
    let grid = context.reshape(offsets, vec![n * parts, taps, 2, rows, columns])?;
    let grid = context.helper("by_place", Transpose { perm: vec![0, 1, 3, 4, 2] }, vec![grid])?;
    // A grid has columns first, offsets have rows first.
    let turned = SliceRange { axis: 4, start: 1, length: 2, step: -1 };
    let grid = context.helper("columns_first", Slice { ranges: vec![turned] }, vec![grid])?;
    let grid = context.binary(BinaryKind::Add, grid, places)?;
    let grid = context.reshape(grid, vec![n * parts, taps * rows, columns, 2])?;

    let image = context.reshape(x, vec![n * parts, channels / parts, h, w])?;
    let image = context.helper("nhwc", Transpose { perm: vec![0, 2, 3, 1] }, vec![image])?;
    let op = GridSample { mode: SampleMode::Linear, outside: Outside::Zeros, places: GridPlaces::Elements };
    let mut y = context.helper("sampled", op, vec![image, grid])?;
    if let Some(mask) = mask {
        let mask = context.reshape(mask, vec![n * parts, taps * rows, columns, 1])?;
        y = context.binary(BinaryKind::Mul, y, mask)?;
    }
    let y = context.reshape(y, vec![n, parts, taps, rows, columns, channels / parts])?;
    let y = context.helper("pixels", Transpose { perm: vec![0, 3, 4, 1, 5, 2] }, vec![y])?;
    let y = context.reshape(y, vec![n, rows, columns, channels * taps])?;
    let weights = context.reshape(weights, vec![filters, inner * taps])?;
    let weights = context.permute(weights, &[1, 0], "io")?;
    let weights =
        context.helper("hwio", Reshape { shape: vec![1, 1, inner * taps, filters] }, vec![weights])?;
    let op = Conv { strides: [1; 2], dilations: [1; 2], pads: [0; 4], group };
    let y = context.emit(op, [y, weights].into_iter().chain(bias).collect())?;
    Ok(vec![context.helper("nchw", Transpose { perm: vec![0, 3, 1, 2] }, vec![y])?])
}

/// Column and row of each tap of each window, without offsets.
fn places(
    context: &mut Context<'_>,
    windows: &Windows,
    [rows, columns]: [usize; 2],
) -> Result<Vec<f32>, Reason> {
    let window = windows.image();
    let [down, right] = window.kernel;
    context.reserve(&[down * right, rows, columns, 2])?;
    let place = |axis: usize, index: usize, tap: usize| {
        let element = (index * window.strides[axis] + tap * window.dilations[axis]) as f32;
        element - window.pads[axis] as f32
    };
    let mut places = Vec::new();
    for (y, x) in (0..down).flat_map(|y| (0..right).map(move |x| (y, x))) {
        for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |column| (row, column))) {
            places.extend([place(1, column, x), place(0, row, y)]);
        }
    }
    Ok(places)
}
