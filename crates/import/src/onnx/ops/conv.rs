//! Conv over images: constant weights become HWIO at once.

use npukit_graph::ValueId;
use npukit_graph::op::Conv;

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;
use super::super::image::{require_rank_4, to_nchw, to_nhwc, window};

/// Translates one node.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (x, weights) = (context.input(0, "X")?, context.input(1, "W")?);
    let bias = context.optional(2);
    let x = to_nhwc(context, x, "X")?;
    require_rank_4(context, weights, "W")?;
    let kernel = [context.shape(weights)[2], context.shape(weights)[3]];
    if kernel.contains(&0) {
        let found = format!("{:?}", context.shape(weights));
        return Err(Reason::OperandValue {
            operand: "W",
            found,
            legal: "kernels of 1 x 1 or more".to_owned(),
        });
    }
    let window = window(context, x, Some(kernel))?;
    let group = context.attributes.int("group")?.unwrap_or(1);
    let group = usize::try_from(group).ok().filter(|group| (1..=context.shape(x)[3]).contains(group));
    let group = group.ok_or_else(|| unsupported("group", group, "1 to the channels of the operand"))?;
    let weights = context.permute(weights, &[2, 3, 1, 0], "hwio")?;
    let op = Conv { strides: window.strides, dilations: window.dilations, pads: window.pads, group };
    let operands = [x, weights].into_iter().chain(bias).collect();
    let y = context.emit(op, operands)?;
    Ok(vec![to_nchw(context, y)?])
}
