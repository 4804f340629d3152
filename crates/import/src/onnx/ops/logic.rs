//! And, Or and Xor, with NumPy broadcasting.

use npukit_graph::ValueId;
use npukit_graph::op::{Logic, LogicKind};

use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let kind = match context.op_type() {
        "And" => LogicKind::And,
        "Or" => LogicKind::Or,
        "Xor" => LogicKind::Xor,
        other => return Err(Reason::Operator { operator: other.to_owned() }),
    };
    let (a, b) = (context.input(0, "A")?, context.input(1, "B")?);
    Ok(vec![context.emit(Logic { kind }, vec![a, b])?])
}
