//! EMBEDDING_LOOKUP: selects rows of a table.

use npukit_graph::ValueId;
use npukit_graph::op::Gather;

use super::super::context::Context;
use crate::error::Reason;

/// Translates one operator of the file and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (rows, table) = (context.input(0, "lookup")?, context.input(1, "value")?);
    if context.is_constant(rows) {
        let shape = context.shape(rows).to_vec();
        context.reserve(&shape)?;
    }
    Ok(vec![context.emit(Gather { axis: 0 }, vec![table, rows])?])
}
