//! Pack: stacks operands of equal shape along a new axis.

use npukit_graph::ValueId;
use npukit_graph::op::{Concat, Reshape};

use super::super::context::Context;
use super::super::error::Reason;
use crate::node::NodeBuilder;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    context.attributes.without_effect("N"); // equals the number of operands
    let operands = context.inputs("values")?;
    let rank = operands.first().map_or(0, |&first| context.shape(first).len());
    let axis = context.attributes.int_or("axis", 0)?;
    let axis = NodeBuilder::axis("axis", axis, rank + 1)?;
    let mut parts = Vec::with_capacity(operands.len());
    for x in operands {
        let mut shape = context.shape(x).to_vec();
        shape.insert(axis.min(shape.len()), 1);
        parts.push(context.helper("part", Reshape { shape }, vec![x])?);
    }
    Ok(vec![context.emit(Concat { axis }, parts)?])
}
