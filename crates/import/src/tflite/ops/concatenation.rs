//! CONCATENATION along an axis given in the options.

use npukit_graph::ValueId;
use npukit_graph::op::Concat;

use super::super::context::Context;
use crate::error::Reason;
use crate::node::NodeBuilder;

/// Translates one operator of the file and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let first = context.input(0, "values")?;
    let rank = context.shape(first).len();
    let axis = NodeBuilder::axis("axis", context.int(0, 0)?.into(), rank)?;
    let operands = context.all_operands();
    let y = context.emit(Concat { axis }, operands)?;
    Ok(vec![context.activated(y, 1)?])
}
