//! SwiGLU: Swish of one operand, multiplied by the other.

use npukit_graph::ValueId;
use npukit_graph::op::{BinaryKind, UnaryKind};

use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (gate, x) = (context.input(0, "A")?, context.input(1, "B")?);
    if context.shape(gate) != context.shape(x) {
        let (found, legal) = (format!("{:?}", context.shape(x)), format!("{:?}, as A", context.shape(gate)));
        return Err(Reason::OperandValue { operand: "B", found, legal });
    }
    let alpha = context.attributes.float_or("alpha", 1.0)?;
    let gate = context.unary(UnaryKind::Swish { alpha }, gate)?;
    Ok(vec![context.binary(BinaryKind::Mul, gate, x)?])
}
