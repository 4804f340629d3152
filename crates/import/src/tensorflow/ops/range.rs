//! Range: a constant, as its length must be known.

use npukit_graph::ValueId;

use super::super::context::Context;
use super::super::error::Reason;
use crate::range::range;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    Ok(vec![range(context)?])
}
