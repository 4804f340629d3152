//! ClipByValue: limits elements to a range.

use npukit_graph::ValueId;
use npukit_graph::op::{Binary, BinaryKind};

use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (x, min) = (context.input(0, "t")?, context.input(1, "clip_value_min")?);
    let max = context.input(2, "clip_value_max")?;
    let below = context.binary("below", BinaryKind::Min, x, max)?;
    Ok(vec![context.emit(Binary { kind: BinaryKind::Max }, vec![below, min])?])
}
