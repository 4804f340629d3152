//! BroadcastTo: repeats axes of size 1, by NumPy's rule.

use npukit_graph::ValueId;
use npukit_graph::op::Tile;

use super::super::context::Context;
use super::super::error::Reason;
use crate::shape::shape;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "input")?;
    let to = shape(&context.required_integers(1, "shape")?)?;
    let from = context.shape(x).to_vec();
    let missing = to.len().checked_sub(from.len());
    // Default: with too many axes nothing is added, and the filter below refuses it.
    let spread = [vec![1; missing.unwrap_or(0)], from.clone()].concat();
    let repeats = spread.iter().zip(&to).map(|(&size, &target)| match size {
        1 => Some(target),
        size if size == target => Some(1),
        _ => None,
    });
    let Some(repeats) = repeats.collect::<Option<Vec<_>>>().filter(|_| missing.is_some()) else {
        let (found, legal) = (format!("{to:?}"), format!("a shape that {from:?} broadcasts to"));
        return Err(Reason::OperandValue { operand: "shape", found, legal });
    };
    let x = context.reshaped("axes", x, spread)?;
    Ok(vec![context.emit(Tile { repeats }, vec![x])?])
}
