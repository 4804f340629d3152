//! CausalConvWithState: a convolution of each channel of a signal with its past, which is kept as
//! state.

use npukit_graph::ValueId;
use npukit_graph::op::{Concat, Conv, Reshape, Slice, SliceRange, Transpose, UnaryKind};

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (x, weights) = (context.input(0, "input")?, context.input(1, "weight")?);
    let (bias, past) = (context.optional(2), context.optional(3));
    let silu = match context.attributes.string("activation")?.as_deref() {
        None | Some("none" | "") => false,
        Some("silu" | "swish") => true,
        Some(other) => return Err(unsupported("activation", other, "none, silu or swish")),
    };
    let (shape, of_weights) = (context.shape(x).to_vec(), context.shape(weights).to_vec());
    let (&[n, channels, length], &[filters, 1, kernel]) = (&shape[..], &of_weights[..]) else {
        let (found, legal) = (format!("{of_weights:?} for {shape:?}"), "[c, 1, k] for [n, c, l]".to_owned());
        return Err(Reason::OperandValue { operand: "weight", found, legal });
    };
    if filters != channels || kernel == 0 {
        return Err(unsupported(
            "weight",
            of_weights,
            format!("{channels} filters of 1 or more taps, one per channel"),
        ));
    }
    let before = match past {
        Some(past) => past,
        None => context.filled(x, 0.0, &[n, channels, kernel - 1])?,
    };
    let padded = context.helper("with_past", Concat { axis: 2 }, vec![before, x])?;
    let kept = SliceRange { axis: 2, start: length, length: kernel - 1, step: 1 };
    let present = context.helper("present", Slice { ranges: vec![kept] }, vec![padded])?;
    let image = context.permute(padded, &[0, 2, 1], "nwc")?;
    let image = context.reshape(image, vec![n, 1, length + kernel - 1, channels])?;
    let weights = context.permute(weights, &[2, 1, 0], "wio")?;
    let weights = context.helper("hwio", Reshape { shape: vec![1, kernel, 1, channels] }, vec![weights])?;
    let op = Conv { strides: [1; 2], dilations: [1; 2], pads: [0; 4], group: channels };
    let y = context.emit(op, [image, weights].into_iter().chain(bias).collect())?;
    let y = context.reshape(y, vec![n, length, channels])?;
    let mut y = context.helper("ncw", Transpose { perm: vec![0, 2, 1] }, vec![y])?;
    if silu {
        y = context.unary(UnaryKind::Swish { alpha: 1.0 }, y)?;
    }
    Ok(vec![y, present])
}
