//! MatMul of two matrices, with optional transpositions.

use npukit_graph::ValueId;
use npukit_graph::op::Gemm;

use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (a, b) = (context.input(0, "a")?, context.input(1, "b")?);
    context.attributes.without_effect("grad_a"); // notes for training
    context.attributes.without_effect("grad_b");
    let trans_a = context.attributes.flag("transpose_a", false)?;
    let trans_b = context.attributes.flag("transpose_b", false)?;
    let op = Gemm { alpha: 1.0, beta: 1.0, trans_a, trans_b };
    Ok(vec![context.emit(op, vec![a, b])?])
}
