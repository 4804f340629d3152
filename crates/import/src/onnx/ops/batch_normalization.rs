//! BatchNormalization in inference form; the channels become the last axis.

use npukit_graph::ValueId;
use npukit_graph::op::{BatchNormalization, Transpose};

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;

/// Translates one node.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let mut operands = vec![context.input(0, "X")?];
    for (index, name) in (1..).zip(["scale", "B", "mean", "var"]) {
        operands.push(context.input(index, name)?);
    }
    let epsilon = context.attributes.float("epsilon")?.unwrap_or(1e-5);
    context.attributes.without_effect("momentum"); // of training
    if context.attributes.flag("training_mode", false)? {
        return Err(unsupported("training_mode", 1, "0"));
    }
    if context.opset < 9 && !context.attributes.flag("spatial", true)? {
        return Err(unsupported("spatial", 0, "1"));
    }
    normalise(context, operands, BatchNormalization { epsilon })
}

/// Emits the operator, between transpositions when axes follow the channels.
fn normalise(
    context: &mut Context<'_>,
    mut operands: Vec<ValueId>,
    op: BatchNormalization,
) -> Result<Vec<ValueId>, Reason> {
    let x = operands[0];
    let rank = context.shape(x).len();
    if rank <= 2 {
        return Ok(vec![context.emit(op, operands)?]);
    }
    // [n, c, d1, .., dk] to [n, d1, .., dk, c] and back.
    let last: Vec<usize> = [0].into_iter().chain(2..rank).chain([1]).collect();
    let back: Vec<usize> = [0, rank - 1].into_iter().chain(1..rank - 1).collect();
    operands[0] = context.permute(x, &last, "nhwc")?;
    let y = context.emit(op, operands)?;
    Ok(vec![context.helper("nchw", Transpose { perm: back }, vec![y])?])
}
