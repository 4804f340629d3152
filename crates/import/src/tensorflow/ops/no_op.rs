//! NoOp: orders side effects, which inference does not have.

use npukit_graph::ValueId;

use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(_context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    Ok(Vec::new())
}
