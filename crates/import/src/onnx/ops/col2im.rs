//! Col2Im: adds columns of blocks to the image, as a ScatterND with constant positions.

use npukit_graph::ValueId;
use npukit_graph::op::{Pad, PadMode, ScatterKind, ScatterNd, Transpose};

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;
use super::super::image::Windows;
use super::super::tensor;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "input")?;
    let [image, block] = [sizes(context, 1, "image_shape")?, sizes(context, 2, "block_shape")?];
    if image.len() != block.len() || block.contains(&0) {
        return Err(unsupported("block_shape", block, format!("{} sizes of 1 or more", image.len())));
    }
    let windows = Windows::new(context, &image, Some(&block), 0)?;
    let pads = windows.axes.iter().map(|axis| axis.pads.map(|pad| pad as usize));
    let padded: Vec<usize> =
        image.iter().zip(pads).map(|(size, [before, after])| size + before + after).collect();
    tensor::check_shape(&padded)?;
    let (length, volume) = (block.iter().product::<usize>(), padded.iter().product::<usize>());
    let positions = positions(context, &windows, &padded)?;
    let (shape, blocks) = (context.shape(x).to_vec(), positions.len() / length);
    let &[n, rows, columns] = &shape[..] else { return Err(wrong(&shape, length, blocks)) };
    if !rows.is_multiple_of(length) || columns != blocks {
        return Err(wrong(&shape, length, blocks));
    }
    let channels = rows / length;
    let positions = context.indices(vec![length * blocks, 1], positions)?;
    let y = context.reshape(x, vec![n, channels, length * blocks])?;
    let y = context.helper("columns", Transpose { perm: vec![2, 0, 1] }, vec![y])?;
    let zeros = context.filled(x, 0.0, &[volume, n, channels])?;
    let y = context.emit(ScatterNd { kind: ScatterKind::Add }, vec![zeros, positions, y])?;
    let y = context.helper("images", Transpose { perm: vec![1, 2, 0] }, vec![y])?;
    let y = context.reshape(y, [&[n, channels], &padded[..]].concat())?;
    let crop = windows.axes.iter().map(|axis| axis.pads.map(|pad| -pad as isize));
    let pads = [[0; 2]; 2].into_iter().chain(crop).collect();
    Ok(vec![context.helper("image", Pad { pads, mode: PadMode::Constant(0.0) }, vec![y])?])
}

/// Position of each element of each block in the padded image: rows are elements of a block,
/// columns are blocks.
fn positions(context: &mut Context<'_>, windows: &Windows, padded: &[usize]) -> Result<Vec<i64>, Reason> {
    let (mut kernel, mut steps, mut stride) = (vec![0], vec![0], 1);
    for (axis, &size) in windows.axes.iter().zip(padded).rev() {
        let reach = (axis.kernel - 1) * axis.dilation + 1;
        let count = size.checked_sub(reach).map_or(0, |rest| rest / axis.stride + 1);
        context
            .reserve(&[axis.kernel.saturating_mul(kernel.len()).max(count.saturating_mul(steps.len()))])?;
        kernel = spread(axis.kernel, axis.dilation * stride, &kernel);
        steps = spread(count, axis.stride * stride, &steps);
        stride *= size;
    }
    context.reserve(&[kernel.len(), steps.len()])?;
    Ok(kernel.iter().flat_map(|tap| steps.iter().map(move |step| (tap + step) as i64)).collect())
}

/// Repeats the positions `count` times, each copy shifted by `distance` more.
fn spread(count: usize, distance: usize, positions: &[usize]) -> Vec<usize> {
    (0..count).flat_map(|index| positions.iter().map(move |position| position + index * distance)).collect()
}

/// Returns a constant operand of sizes.
fn sizes(context: &mut Context<'_>, index: usize, operand: &'static str) -> Result<Vec<usize>, Reason> {
    tensor::shape(&context.integers(index, operand)?.ok_or(Reason::OperandMissing { operand })?)
}

fn wrong(shape: &[usize], length: usize, blocks: usize) -> Reason {
    let legal = format!("[n, c * {length}, {blocks}], {blocks} blocks of {length} elements");
    Reason::OperandValue { operand: "input", found: format!("{shape:?}"), legal }
}
