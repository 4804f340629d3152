//! BitwiseAnd, BitwiseOr, BitwiseXor, BitwiseNot and BitShift.

use npukit_graph::ValueId;
use npukit_graph::op::{Bitwise, BitwiseKind};

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let left = context.input(0, "A")?;
    let kind = match context.op_type() {
        "BitwiseAnd" => BitwiseKind::And,
        "BitwiseOr" => BitwiseKind::Or,
        "BitwiseXor" => BitwiseKind::Xor,
        "BitwiseNot" => {
            // -1 has all bits set, truncated to the width of its type.
            let ones = context.scalar(left, -1.0)?;
            return Ok(vec![context.emit(Bitwise { kind: BitwiseKind::Xor }, vec![left, ones])?]);
        }
        _ => match context.attributes.string("direction")?.as_deref() {
            Some("LEFT") => BitwiseKind::ShiftLeft,
            Some("RIGHT") => BitwiseKind::ShiftRight,
            other => return Err(unsupported("direction", other, "LEFT or RIGHT")),
        },
    };
    let right = context.input(1, "B")?;
    Ok(vec![context.emit(Bitwise { kind }, vec![left, right])?])
}
