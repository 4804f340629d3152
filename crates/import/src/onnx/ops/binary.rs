//! Add, Sub, Mul, Div and Mod, with NumPy broadcasting (since opset 7).

use npukit_graph::ValueId;
use npukit_graph::op::{Binary, BinaryKind};

use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let kind = match context.op_type() {
        "Add" => BinaryKind::Add,
        "Sub" => BinaryKind::Sub,
        "Mul" => BinaryKind::Mul,
        "Div" => BinaryKind::Div,
        "Mod" if context.attributes.flag("fmod", false)? => BinaryKind::Fmod,
        "Mod" => BinaryKind::Mod,
        other => return Err(Reason::Operator { operator: other.to_owned() }),
    };
    let (a, b) = (context.input(0, "A")?, context.input(1, "B")?);
    Ok(vec![context.emit(Binary { kind }, vec![a, b])?])
}
