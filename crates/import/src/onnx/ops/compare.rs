//! Equal, Greater, Less and the other comparisons, with NumPy broadcasting.

use npukit_graph::ValueId;
use npukit_graph::op::{Compare, CompareKind};

use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let kind = match context.op_type() {
        "Equal" => CompareKind::Equal,
        "Greater" => CompareKind::Greater,
        "GreaterOrEqual" => CompareKind::GreaterOrEqual,
        "Less" => CompareKind::Less,
        "LessOrEqual" => CompareKind::LessOrEqual,
        other => return Err(Reason::Operator { operator: other.to_owned() }),
    };
    let (a, b) = (context.input(0, "A")?, context.input(1, "B")?);
    Ok(vec![context.emit(Compare { kind }, vec![a, b])?])
}
