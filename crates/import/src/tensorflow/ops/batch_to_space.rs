//! BatchToSpaceND and BatchToSpace: join batches as blocks of an image, which is cropped. Around a
//! convolution, blocks implement its dilation.

use npukit_graph::ValueId;
use npukit_graph::op::{Conv, Reshape, Slice, SliceRange, Transpose};

use super::super::attributes::unsupported;
use super::super::blocks::Blocked;
use super::super::context::Context;
use super::super::error::Reason;
use crate::shape::MAX_ELEMENTS;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "input")?;
    let Cut { block, ends } = cut(context, x, "crops")?;
    // An axis that was inserted for the convolution must be removed.
    let rank = context.shape(x).len();
    let whole = |blocked: &&Blocked| blocked.block == block && context.shape(blocked.source).len() == rank;
    let blocked = context.blocks.get(x).filter(whole).cloned();
    if let Some(blocked) = blocked
        && let Some(y) = dilated(context, blocked, &ends)?
    {
        return Ok(vec![y]);
    }
    Ok(vec![literal(context, x, &block, &ends)?])
}

/// Blocks of a split image: their sizes, and the elements added or removed at both ends, for each
/// axis starting at 1.
pub(super) struct Cut {
    /// Block sizes.
    pub(super) block: Vec<usize>,
    /// Elements added or removed at both ends.
    pub(super) ends: Vec<[usize; 2]>,
}

/// Reads how `x` is split. `ends` is the name of the operand with the elements added or removed at
/// both ends.
pub(super) fn cut(context: &mut Context<'_>, x: ValueId, ends: &'static str) -> Result<Cut, Reason> {
    let (block, ends) = if context.op().ends_with("ND") {
        (context.required_integers(1, "block_shape")?, context.pairs(2, ends)?)
    } else {
        let size = context.attributes.int("block_size")?;
        let size = size.ok_or(Reason::AttributeMissing { name: "block_size" })?;
        (vec![size; 2], context.pairs(1, ends)?)
    };
    let size = |&size: &i64| usize::try_from(size).ok().filter(|size| (1..=MAX_ELEMENTS).contains(size));
    let sizes: Option<Vec<usize>> = block.iter().map(size).collect();
    let rank = context.shape(x).len();
    match sizes {
        Some(block) if block.len() == ends.len() && block.len() < rank => Ok(Cut { block, ends }),
        _ => {
            let legal =
                format!("a positive size for each pair of ends, at most {} axes", rank.saturating_sub(1));
            Err(unsupported("block_shape", block, legal))
        }
    }
}

/// Returns the dilated convolution for which the blocks were split. `None` without one, or if
/// more is cropped than was padded.
fn dilated(
    context: &mut Context<'_>,
    blocked: Blocked,
    crops: &[[usize; 2]],
) -> Result<Option<ValueId>, Reason> {
    let Blocked { source, block, pads, inserted, conv: Some((conv, weights)) } = blocked else {
        return Ok(None);
    };
    let left = |(pads, crops): (&[usize; 2], &[usize; 2])| {
        Some([pads[0].checked_sub(crops[0])?, pads[1].checked_sub(crops[1])?])
    };
    let Some(mut pads) = pads.iter().zip(crops).map(left).collect::<Option<Vec<_>>>() else {
        return Ok(None);
    };
    let (mut dilations, mut x) = (block, source);
    if let Some(axis) = inserted {
        let mut shape = context.shape(source).to_vec();
        shape.insert(axis.min(shape.len()), 1);
        x = context.reshaped("image", source, shape)?;
        dilations.insert(axis.saturating_sub(1).min(dilations.len()), 1);
        pads.insert(axis.saturating_sub(1).min(pads.len()), [0, 0]);
    }
    let (&[down, right], &[rows, columns]) = (&dilations[..], &pads[..]) else { return Ok(None) };
    let pads = [rows[0], columns[0], rows[1], columns[1]];
    let op = Conv { dilations: [down, right], pads, ..conv };
    let Some(axis) = inserted else { return Ok(Some(context.emit(op, vec![x, weights])?)) };
    let y = context.helper("dilated", op, vec![x, weights])?;
    let mut shape = context.shape(y).to_vec();
    shape.remove(axis);
    Ok(Some(context.emit(Reshape { shape }, vec![y])?))
}

/// Translates the operator literally.
fn literal(
    context: &mut Context<'_>,
    x: ValueId,
    block: &[usize],
    crops: &[[usize; 2]],
) -> Result<ValueId, Reason> {
    let shape = context.shape(x).to_vec();
    let (count, blocks) =
        (block.len(), block.iter().fold(1usize, |product, &size| product.saturating_mul(size)));
    if !shape[0].is_multiple_of(blocks) {
        let (found, legal) = (format!("{shape:?}"), format!("a multiple of {blocks} batches"));
        return Err(Reason::OperandValue { operand: "input", found, legal });
    }
    // [b, b, n, h, w, c] to [n, h, b, w, b, c] to [n, h * b, w * b, c].
    let apart: Vec<usize> =
        block.iter().copied().chain([shape[0] / blocks]).chain(shape[1..].iter().copied()).collect();
    let pairs = (0..count).flat_map(|axis| [count + 1 + axis, axis]);
    let perm = [count].into_iter().chain(pairs).chain(2 * count + 1..apart.len()).collect();
    let y = context.helper("apart", Reshape { shape: apart }, vec![x])?;
    let y = context.helper("pixels", Transpose { perm }, vec![y])?;
    let mut whole = shape;
    whole[0] /= blocks;
    (0..count).for_each(|axis| whole[axis + 1] *= block[axis]);
    let y = context.helper("whole", Reshape { shape: whole.clone() }, vec![y])?;
    let ranges = crops.iter().enumerate().map(|(index, &crops)| cropped(index + 1, whole[index + 1], crops));
    let ranges = ranges.collect::<Result<_, _>>()?;
    context.emit(Slice { ranges }, vec![y])
}

/// Slice of an axis of `size` elements without those at its ends.
fn cropped(axis: usize, size: usize, [before, after]: [usize; 2]) -> Result<SliceRange, Reason> {
    match size.checked_sub(before.saturating_add(after)) {
        Some(length) => Ok(SliceRange { axis, start: before, length, step: 1 }),
        None => {
            Err(unsupported("crops", [before, after], format!("at most the {size} elements of axis {axis}")))
        }
    }
}
