//! LogicalAnd and LogicalOr, with NumPy broadcasting.

use npukit_graph::ValueId;
use npukit_graph::op::{Logic, LogicKind};

use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let kind = if context.op() == "LogicalAnd" { LogicKind::And } else { LogicKind::Or };
    let (x, y) = (context.input(0, "x")?, context.input(1, "y")?);
    Ok(vec![context.emit(Logic { kind }, vec![x, y])?])
}
