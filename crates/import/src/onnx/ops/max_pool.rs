//! MaxPool over one to three axes; the positions of the maxima over one or two.

use npukit_graph::ValueId;
use npukit_graph::op::{MaxPool, Window};

use super::super::context::Context;
use super::super::error::Reason;
use super::super::pool::pool;

/// Translates one node.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    context.attributes.without_effect("storage_order"); // of the positions
    Ok(vec![pool(context, |window: Window| MaxPool { window }.into())?])
}
