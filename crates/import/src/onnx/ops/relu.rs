//! Relu: `max(x, 0)`.

use npukit_graph::ValueId;
use npukit_graph::op::Relu;

use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "X")?;
    Ok(vec![context.emit(Relu, vec![x])?])
}
