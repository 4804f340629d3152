//! Det.

use npukit_graph::ValueId;
use npukit_graph::op::Det;

use super::super::context::Context;
use super::super::error::Reason;

/// Translates one node.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "X")?;
    Ok(vec![context.emit(Det, vec![x])?])
}
