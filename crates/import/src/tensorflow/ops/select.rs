//! SelectV2, with NumPy broadcasting; and Select, whose condition may be one per row.

use npukit_graph::ValueId;
use npukit_graph::op::Where;

use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let mut condition = context.input(0, "condition")?;
    let (yes, no) = (context.input(1, "t")?, context.input(2, "e")?);
    let rank = context.shape(yes).len();
    let mut shape = vec![1; rank];
    if let ("Select", &[rows], Some(first)) = (context.op(), context.shape(condition), shape.first_mut()) {
        *first = rows;
        condition = context.reshaped("condition", condition, shape)?;
    }
    Ok(vec![context.emit(Where, vec![condition, yes, no])?])
}
