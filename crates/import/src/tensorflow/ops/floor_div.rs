//! FloorDiv: the quotient rounded down.

use npukit_graph::ValueId;
use npukit_graph::op::{Binary, BinaryKind, Unary, UnaryKind};

use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (x, y) = (context.input(0, "x")?, context.input(1, "y")?);
    if context.element(x).is_float() {
        let quotient = context.binary("quotient", BinaryKind::Div, x, y)?;
        return Ok(vec![context.emit(Unary { kind: UnaryKind::Floor }, vec![quotient])?]);
    }
    // The remainder has the divisor's sign; without it, the division is exact.
    let remainder = context.binary("remainder", BinaryKind::Mod, x, y)?;
    let even = context.binary("even", BinaryKind::Sub, x, remainder)?;
    Ok(vec![context.emit(Binary { kind: BinaryKind::Div }, vec![even, y])?])
}
