//! QLinearConv as Conv on real numbers; and ConvInteger, whose integers have scale 1.

use npukit_graph::ValueId;
use npukit_graph::op::Cast;
use npukit_numeric::ElementType;

use super::super::context::Context;
use super::super::error::Reason;
use super::super::quantized::{Scales, dequantized, quantized};
use super::conv::conv;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    if context.op_type() == "ConvInteger" {
        return integer(context);
    }
    let (x, weights) = (context.input(0, "x")?, context.input(3, "w")?);
    let of_x = Scales::at(context, (1, "x_scale"), 2)?;
    let of_weights = Scales::at(context, (4, "w_scale"), 5)?;
    // The addend has the scale of the products.
    let bias = match context.optional(8) {
        Some(bias) => {
            let scales = of_weights.times(context, of_x.scale)?;
            Some(dequantized(context, bias, scales, 0)?)
        }
        None => None,
    };
    let x = dequantized(context, x, of_x, 0)?;
    let weights = dequantized(context, weights, of_weights, 0)?;
    let y = conv(context, x, weights, bias)?;
    Ok(vec![quantized(context, y, 6)?])
}

fn integer(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (x, weights) = (context.input(0, "x")?, context.input(1, "w")?);
    let (of_x, of_weights) = (Scales::units(context, 2)?, Scales::units(context, 3)?);
    let x = dequantized(context, x, of_x, 0)?;
    let weights = dequantized(context, weights, of_weights, 0)?;
    let y = conv(context, x, weights, None)?;
    Ok(vec![context.helper("integer", Cast::new(ElementType::I32), vec![y])?])
}
