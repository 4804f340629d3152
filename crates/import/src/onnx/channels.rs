//! Operators whose channels are the last axis in the graph, the second one in the model.

use npukit_graph::ValueId;
use npukit_graph::op::{Op, Transpose};

use super::context::Context;
use super::error::Reason;

/// Emits an operator that keeps the shape of its first operand `[n, c, ..]`, between
/// transpositions when axes follow the channels.
pub(super) fn by_channel(
    context: &mut Context<'_>,
    op: impl Into<Op>,
    mut operands: Vec<ValueId>,
) -> Result<Vec<ValueId>, Reason> {
    let Some(&x) = operands.first() else { return Err(Reason::OperandMissing { operand: "X" }) };
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
