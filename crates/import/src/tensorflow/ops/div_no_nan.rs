//! DivNoNan: the quotient, or 0 if the divisor is 0. MulNoNan: the product, or 0 if the second
//! factor is 0.

use npukit_graph::ValueId;
use npukit_graph::op::{BinaryKind, Compare, CompareKind, Where};

use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (x, y) = (context.input(0, "x")?, context.input(1, "y")?);
    let kind = if context.op() == "DivNoNan" { BinaryKind::Div } else { BinaryKind::Mul };
    let result = context.binary("result", kind, x, y)?;
    let zero = context.scalar(0.0)?;
    let is_zero = context.helper("is_zero", Compare { kind: CompareKind::Equal }, vec![y, zero])?;
    Ok(vec![context.emit(Where, vec![is_zero, zero, result])?])
}
