//! Tile: repeats the operand along its axes.

use npukit_graph::ValueId;
use npukit_graph::op::Tile;

use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "input")?;
    let stated = context.required_integers(1, "multiples")?;
    let shape = context.shape(x);
    let counts: Option<Vec<usize>> = stated.iter().map(|&count| usize::try_from(count).ok()).collect();
    let Some(repeats) = counts.filter(|counts| counts.len() == shape.len()) else {
        let legal = format!("a number of 0 or more for each axis of {shape:?}");
        return Err(Reason::OperandValue { operand: "multiples", found: format!("{stated:?}"), legal });
    };
    Ok(vec![context.emit(Tile { repeats }, vec![x])?])
}
