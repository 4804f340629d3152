//! Elementwise operators of two operands that the graph also has, with NumPy broadcasting.

use npukit_graph::ValueId;
use npukit_graph::op::{Binary, BinaryKind};

use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let kind = match context.op() {
        "Add" | "AddV2" => BinaryKind::Add,
        "Sub" => BinaryKind::Sub,
        "Mul" => BinaryKind::Mul,
        "Div" | "RealDiv" | "TruncateDiv" => BinaryKind::Div,
        "FloorMod" => BinaryKind::Mod,
        "Mod" | "TruncateMod" => BinaryKind::Fmod,
        "Maximum" => BinaryKind::Max,
        "Minimum" => BinaryKind::Min,
        other => return Err(Reason::Operator { operator: other.to_owned() }),
    };
    let (x, y) = (context.input(0, "x")?, context.input(1, "y")?);
    Ok(vec![context.emit(Binary { kind }, vec![x, y])?])
}
