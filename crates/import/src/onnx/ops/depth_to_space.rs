//! DepthToSpace and SpaceToDepth: a transposition of an NHWC image whose axes are split into
//! blocks.

use npukit_graph::ValueId;
use npukit_graph::op::{Reshape, Transpose};

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;
use super::super::image::Image;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "input")?;
    let &[n, c, h, w] = context.shape(x) else {
        let (found, legal) = (format!("{:?}", context.shape(x)), "[n, c, h, w]".to_owned());
        return Err(Reason::OperandValue { operand: "input", found, legal });
    };
    let to_space = context.op_type() == "DepthToSpace";
    let b = block_size(context, if to_space { [c, c] } else { [h, w] }, to_space)?;
    // CRD orders blocks within channels; DCR orders channels within blocks.
    let channels_first = match context.attributes.string("mode")?.as_deref() {
        None | Some("DCR") => false,
        Some("CRD") => true,
        Some(other) => return Err(unsupported("mode", other, "DCR or CRD")),
    };
    let (apart, perm, shape) = match (to_space, channels_first) {
        (true, false) => {
            let c = c / (b * b);
            (vec![n, h, w, b, b, c], vec![0, 1, 3, 2, 4, 5], vec![n, h * b, w * b, c])
        }
        (true, true) => {
            let c = c / (b * b);
            (vec![n, h, w, c, b, b], vec![0, 1, 4, 2, 5, 3], vec![n, h * b, w * b, c])
        }
        (false, false) => {
            let (h, w) = (h / b, w / b);
            (vec![n, h, b, w, b, c], vec![0, 1, 3, 2, 4, 5], vec![n, h, w, b * b * c])
        }
        (false, true) => {
            let (h, w) = (h / b, w / b);
            (vec![n, h, b, w, b, c], vec![0, 1, 3, 5, 2, 4], vec![n, h, w, c * b * b])
        }
    };
    let image = Image::new(context, x, "input")?;
    let y = context.helper("blocks", Reshape { shape: apart }, vec![image.value])?;
    let y = context.emit(Transpose { perm }, vec![y])?;
    let y = context.helper("image", Reshape { shape }, vec![y])?;
    Ok(vec![image.restore(context, y)?])
}

/// Reads attribute `blocksize`, which must divide both `sizes` (its square for DepthToSpace).
fn block_size(context: &mut Context<'_>, sizes: [usize; 2], square: bool) -> Result<usize, Reason> {
    let stated =
        context.attributes.int("blocksize")?.ok_or(Reason::AttributeMissing { name: "blocksize" })?;
    let divides = |block: &usize| {
        let divisor = if square { block.checked_mul(*block) } else { Some(*block) };
        divisor.is_some_and(|divisor| divisor > 0 && sizes.iter().all(|size| size.is_multiple_of(divisor)))
    };
    let what = if square { "whose square divides the channels" } else { "that divides rows and columns" };
    let block = usize::try_from(stated).ok().filter(|block| *block < 1 << 24).filter(divides);
    block.ok_or_else(|| unsupported("blocksize", stated, format!("a number {what} of {sizes:?}")))
}
