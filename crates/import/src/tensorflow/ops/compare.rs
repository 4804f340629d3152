//! Comparisons, with NumPy broadcasting.

use npukit_graph::ValueId;
use npukit_graph::op::{Compare, CompareKind, Unary, UnaryKind};

use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (x, y) = (context.input(0, "x")?, context.input(1, "y")?);
    context.attributes.without_effect("incompatible_shape_error");
    let kind = match context.op() {
        "Equal" => CompareKind::Equal,
        "Greater" => CompareKind::Greater,
        "GreaterEqual" => CompareKind::GreaterOrEqual,
        "Less" => CompareKind::Less,
        "LessEqual" => CompareKind::LessOrEqual,
        "NotEqual" => {
            let equal = context.helper("equal", Compare { kind: CompareKind::Equal }, vec![x, y])?;
            return Ok(vec![context.emit(Unary { kind: UnaryKind::Not }, vec![equal])?]);
        }
        other => return Err(Reason::Operator { operator: other.to_owned() }),
    };
    Ok(vec![context.emit(Compare { kind }, vec![x, y])?])
}
