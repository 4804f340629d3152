//! SpaceToBatchND and SpaceToBatch: pad the image, and split it into blocks that become batches.

use npukit_graph::ValueId;
use npukit_graph::op::{Pad, PadMode, Reshape, Transpose};

use super::super::blocks::Blocked;
use super::super::context::Context;
use super::super::error::Reason;
use super::batch_to_space::{Cut, cut};

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let source = context.input(0, "input")?;
    let Cut { block, ends } = cut(context, source, "paddings")?;
    let y = literal(context, source, &block, &ends)?;
    context.blocks.set(y, Blocked { source, block, pads: ends, inserted: None, conv: None });
    Ok(vec![y])
}

/// Translates the operator literally.
fn literal(
    context: &mut Context<'_>,
    source: ValueId,
    block: &[usize],
    ends: &[[usize; 2]],
) -> Result<ValueId, Reason> {
    let count = block.len();
    let mut pads = vec![[0; 2]; context.shape(source).len()];
    ends.iter().enumerate().for_each(|(axis, pair)| pads[axis + 1] = pair.map(|pad| pad as isize));
    let x = context.helper("padded", Pad { pads, mode: PadMode::Constant(0.0) }, vec![source])?;
    let shape = context.shape(x).to_vec();
    // [n, h, w, c] to [n, h / b, b, w / b, b, c] to [b, b, n, h / b, w / b, c].
    let mut apart = vec![shape[0]];
    for (&size, &block) in shape[1..].iter().zip(block) {
        if !size.is_multiple_of(block) {
            let (found, legal) =
                (format!("{shape:?} with padding"), format!("multiples of the blocks {block:?}"));
            return Err(Reason::OperandValue { operand: "input", found, legal });
        }
        apart.extend([size / block, block]);
    }
    apart.extend(&shape[count + 1..]);
    let rest = 2 * count + 1..apart.len();
    let blocks_first =
        (0..count).map(|axis| 2 * axis + 2).chain([0]).chain((0..count).map(|axis| 2 * axis + 1));
    let perm: Vec<usize> = blocks_first.chain(rest).collect();
    let x = context.helper("apart", Reshape { shape: apart }, vec![x])?;
    let x = context.helper("blocks", Transpose { perm }, vec![x])?;
    let mut shape = shape;
    shape[0] *= block.iter().product::<usize>();
    (0..count).for_each(|axis| shape[axis + 1] /= block[axis]);
    context.emit(Reshape { shape }, vec![x])
}
