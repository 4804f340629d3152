//! Concat: concatenation along an axis.

use npukit_graph::ValueId;
use npukit_graph::op::Concat;

use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let operands = (0..context.operands().max(1))
        .map(|index| context.input(index, "inputs"))
        .collect::<Result<Vec<_>, _>>()?;
    let axis = context.attributes.int("axis")?.ok_or(Reason::AttributeMissing { name: "axis" })?;
    let rank = operands.first().map_or(0, |&first| context.shape(first).len());
    let axis = Context::axis("axis", axis, rank)?;
    Ok(vec![context.emit(Concat { axis }, operands)?])
}
