//! SquaredDifference: `(x - y)^2`.

use npukit_graph::ValueId;
use npukit_graph::op::{Binary, BinaryKind};

use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (x, y) = (context.input(0, "x")?, context.input(1, "y")?);
    let difference = context.binary("difference", BinaryKind::Sub, x, y)?;
    Ok(vec![context.emit(Binary { kind: BinaryKind::Mul }, vec![difference, difference])?])
}
