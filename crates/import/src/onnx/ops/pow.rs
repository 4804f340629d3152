//! Pow; the exponent may have another type (since opset 12).

use npukit_graph::ValueId;
use npukit_graph::op::Pow;

use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (base, exponent) = (context.input(0, "X")?, context.input(1, "Y")?);
    Ok(vec![context.emit(Pow, vec![base, exponent])?])
}
