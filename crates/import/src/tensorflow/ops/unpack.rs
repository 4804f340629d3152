//! Unpack: the slices along an axis, which is removed.

use npukit_graph::ValueId;
use npukit_graph::op::{Reshape, Split};

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;
use crate::node::NodeBuilder;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "value")?;
    let mut shape = context.shape(x).to_vec();
    let axis = NodeBuilder::axis("axis", context.attributes.int_or("axis", 0)?, shape.len())?;
    let count = shape.remove(axis);
    if let Some(stated) = context.attributes.int("num")?
        && usize::try_from(stated) != Ok(count)
    {
        return Err(unsupported("num", stated, format!("{count}, the size of axis {axis}")));
    }
    context.reserve_results(count)?;
    let parts = context.emit_all(Split { axis, sizes: vec![1; count] }, vec![x])?;
    parts.into_iter().map(|part| context.emit(Reshape { shape: shape.clone() }, vec![part])).collect()
}
