//! LeakyRelu; the slope defaults to 0.01.

use npukit_graph::ValueId;
use npukit_graph::op::LeakyRelu;

use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "X")?;
    let alpha = context.attributes.float_or("alpha", 0.01)?;
    Ok(vec![context.emit(LeakyRelu { alpha }, vec![x])?])
}
