//! CONV_2D, weights `[co, kh, kw, ci / group]`, and DEPTHWISE_CONV_2D, weights `[1, kh, kw, co]`.

use npukit_graph::ValueId;
use npukit_graph::op::Conv;

use super::super::context::Context;
use crate::error::Reason;

/// Translates one operator of the file and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (x, weights) = (context.input(0, "input")?, context.input(1, "filter")?);
    let &[_, _, _, channels] = context.shape(x) else { return Err(context.no_image(x)) };
    let &[filters, rows, columns, depth] = context.shape(weights) else {
        let (found, legal) = (format!("{:?}", context.shape(weights)), "four axes".to_owned());
        return Err(Reason::OperandValue { operand: "filter", found, legal });
    };
    let (hwio, group, [activation, dilations]) = match context.op {
        "CONV_2D" => {
            // Inference reports a mismatch.
            let group = channels.checked_div(depth).filter(|group| group * depth == channels).unwrap_or(1);
            (context.permute(weights, &[1, 2, 3, 0], "hwio")?, group.max(1), [3, 4])
        }
        _ if filters == 1 => {
            (context.reshaped("hwio", weights, vec![rows, columns, 1, depth])?, channels, [4, 5])
        }
        _ => {
            let (found, legal) = (format!("{filters} in front"), "1".to_owned());
            return Err(Reason::OperandValue { operand: "filter", found, legal });
        }
    };
    let (strides, dilations) = (context.sizes(1, "stride", 0)?, context.sizes(dilations, "dilation", 1)?);
    let window = context.window(x, [rows, columns], strides, dilations)?;
    let operands = [x, hwio].into_iter().chain(context.optional(2)).collect();
    let y = context.emit(Conv { strides, dilations, pads: window.pads, group }, operands)?;
    Ok(vec![context.activated(y, activation)?])
}
