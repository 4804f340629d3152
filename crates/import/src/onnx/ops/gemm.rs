//! Gemm: a matrix product; the addend is optional since opset 11.

use npukit_graph::ValueId;
use npukit_graph::op::Gemm;

use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let mut operands = vec![context.input(0, "A")?, context.input(1, "B")?];
    operands.extend(context.optional(2));
    let op = Gemm {
        alpha: context.attributes.float_or("alpha", 1.0)?,
        beta: context.attributes.float_or("beta", 1.0)?,
        trans_a: context.attributes.flag("transA", false)?,
        trans_b: context.attributes.flag("transB", false)?,
    };
    Ok(vec![context.emit(op, operands)?])
}
