//! IsFinite: whether elements are neither NaN nor infinite.

use npukit_graph::ValueId;
use npukit_graph::op::{Logic, LogicKind, Unary, UnaryKind};

use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "x")?;
    let tests = ["IsNaN", "IsInf"].map(|test| context.standard(test, &[], &[x]));
    let tests = tests.into_iter().collect::<Result<Vec<_>, _>>()?;
    let either = context.helper("either", Logic { kind: LogicKind::Or }, tests)?;
    Ok(vec![context.emit(Unary { kind: UnaryKind::Not }, vec![either])?])
}
