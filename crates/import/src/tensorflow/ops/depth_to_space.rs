//! DepthToSpace and SpaceToDepth of NHWC images.

use npukit_graph::ValueId;
use npukit_graph::op::{Reshape, Transpose};

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;
use super::super::image::Layout;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let layout = Layout::of(context)?;
    let x = context.input(0, "input")?;
    let x = layout.to_nhwc(context, x, "input")?;
    let shape = context.shape(x).to_vec();
    // An absent size reads as 0, which is refused below: the operation has no default.
    let stated = context.attributes.int_or("block_size", 0)?;
    let largest = shape.iter().copied().max().expect("an image has four axes");
    let Some(block) = usize::try_from(stated).ok().filter(|&block| (1..=largest.max(1)).contains(&block))
    else {
        return Err(unsupported("block_size", stated, format!("1 to {largest}, as in {shape:?}")));
    };
    let to_space = context.op() == "DepthToSpace";
    let fits = if to_space {
        shape[3].is_multiple_of(block * block)
    } else {
        shape[1].is_multiple_of(block) && shape[2].is_multiple_of(block)
    };
    if !fits {
        return Err(unsupported("block_size", stated, format!("one that divides {shape:?}")));
    }
    let [n, h, w, c] = [shape[0], shape[1], shape[2], shape[3]];
    let (apart, perm, shape) = if to_space {
        let c = c / (block * block);
        (vec![n, h, w, block, block, c], vec![0, 1, 3, 2, 4, 5], vec![n, h * block, w * block, c])
    } else {
        let (h, w) = (h / block, w / block);
        (vec![n, h, block, w, block, c], vec![0, 1, 3, 2, 4, 5], vec![n, h, w, block * block * c])
    };
    let y = context.helper("apart", Reshape { shape: apart }, vec![x])?;
    let y = context.helper("moved", Transpose { perm }, vec![y])?;
    let y = context.emit(Reshape { shape }, vec![y])?;
    Ok(vec![layout.restore(context, y)?])
}
