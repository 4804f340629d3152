//! ConcatV2, and Concat, whose first operand is the axis.

use npukit_graph::ValueId;
use npukit_graph::op::Concat;

use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    context.attributes.without_effect("N"); // equals the number of operands
    let count = context.operands();
    let (axis, values) = match context.op() {
        "Concat" => (0, 1..count.max(2)),
        _ => (count.saturating_sub(1), 0..count.saturating_sub(1).max(1)),
    };
    let operands = values.map(|index| context.input(index, "values")).collect::<Result<Vec<_>, _>>()?;
    let rank = operands.first().map_or(0, |&first| context.shape(first).len());
    let axis = context.axis_operand(axis, "axis", rank)?;
    Ok(vec![context.emit(Concat { axis }, operands)?])
}
