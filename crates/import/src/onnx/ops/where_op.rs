//! Where: selects elements by a condition.

use npukit_graph::ValueId;
use npukit_graph::op::Where;

use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let condition = context.input(0, "condition")?;
    let (yes, no) = (context.input(1, "X")?, context.input(2, "Y")?);
    Ok(vec![context.emit(Where, vec![condition, yes, no])?])
}
