//! Elementwise functions that the graph also has.

use npukit_graph::ValueId;
use npukit_graph::op::{Unary, UnaryKind};

use super::super::context::Context;
use super::super::error::Reason;
use crate::function;

/// Limit and slope of Selu (Klambauer et al., 2017), as TensorFlow rounds them.
const SELU: UnaryKind = UnaryKind::Selu { alpha: 1.673_263_2, gamma: 1.050_701 };

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let kind = match context.op() {
        "Elu" => UnaryKind::Elu { alpha: 1.0 },
        "Inv" => UnaryKind::Reciprocal,
        "LogicalNot" => UnaryKind::Not,
        "Rint" => UnaryKind::Round,
        "Selu" => SELU,
        other => function::of(other).ok_or_else(|| Reason::Operator { operator: other.to_owned() })?,
    };
    let x = context.input(0, "x")?;
    Ok(vec![context.emit(Unary { kind }, vec![x])?])
}
