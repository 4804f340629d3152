//! PRelu; the slope is broadcast to the operand (since opset 7).

use npukit_graph::ValueId;
use npukit_graph::op::PRelu;

use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (x, slope) = (context.input(0, "X")?, context.input(1, "slope")?);
    Ok(vec![context.emit(PRelu, vec![x, slope])?])
}
