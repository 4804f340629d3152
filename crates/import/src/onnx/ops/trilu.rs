//! Trilu: upper or lower triangle of matrices.

use npukit_graph::ValueId;
use npukit_graph::op::Trilu;

use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "input")?;
    let offset = match context.integers(1, "k")?.as_deref() {
        None => 0,
        Some(&[offset]) => offset,
        Some(other) => {
            let found = format!("{other:?}");
            return Err(Reason::OperandValue { operand: "k", found, legal: "one integer".to_owned() });
        }
    };
    let upper = context.attributes.flag("upper", true)?;
    Ok(vec![context.emit(Trilu { upper, offset }, vec![x])?])
}
