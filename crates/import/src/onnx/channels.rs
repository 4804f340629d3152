//! Operators whose channels are the last axis in the graph, but the second axis in the model.

use npukit_graph::ValueId;
use npukit_graph::op::{Op, Transpose};

use super::context::Context;
use super::error::Reason;

/// Emits an operator that keeps the shape of its first operand `[n, c, ..]`. If axes follow the
/// channels, it is put between transpositions.
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
    operands[0] = context.permute(x, &channels_last(rank), "nhwc")?;
    let y = context.emit(op, operands)?;
    Ok(vec![context.helper("nchw", Transpose { perm: channels_first(rank) }, vec![y])?])
}

/// Permutation from `[n, c, d1, .., dk]`, with at least two axes, to `[n, d1, .., dk, c]`.
pub(super) fn channels_last(rank: usize) -> Vec<usize> {
    [0].into_iter().chain(2..rank).chain([1]).collect()
}

/// Permutation from channels last to channels first.
pub(super) fn channels_first(rank: usize) -> Vec<usize> {
    [0, rank - 1].into_iter().chain(1..rank - 1).collect()
}
