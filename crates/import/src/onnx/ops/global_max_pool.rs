//! GlobalMaxPool: the maximum over the whole image.

use npukit_graph::ValueId;
use npukit_graph::op::MaxPool;

use super::super::context::Context;
use super::super::error::Reason;
use super::super::pool::global_pool;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "X")?;
    Ok(vec![global_pool(context, x, |window| MaxPool { window }.into())?])
}
