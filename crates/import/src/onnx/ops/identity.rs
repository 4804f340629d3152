//! Identity: the operand under another name.

use npukit_graph::ValueId;

use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    Ok(vec![context.input(0, "input")?])
}
