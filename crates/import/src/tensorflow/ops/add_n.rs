//! AddN: the sum of operands of equal shape.

use npukit_graph::ValueId;
use npukit_graph::op::{Binary, BinaryKind};

use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    context.attributes.without_effect("N"); // equals the number of operands
    let operands = context.inputs("inputs")?;
    let mut operands = operands.into_iter();
    let mut sum = operands.next().ok_or(Reason::OperandMissing { operand: "inputs" })?;
    for operand in operands {
        sum = context.emit(Binary { kind: BinaryKind::Add }, vec![sum, operand])?;
    }
    Ok(vec![sum])
}
