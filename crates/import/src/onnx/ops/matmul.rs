//! MatMul: products of matrices, with broadcasting of the other axes.

use npukit_graph::ValueId;
use npukit_graph::op::MatMul;

use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (a, b) = (context.input(0, "A")?, context.input(1, "B")?);
    Ok(vec![context.emit(MatMul, vec![a, b])?])
}
