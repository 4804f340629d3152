//! Tile, and Expand: repetition along axes.

use npukit_graph::ValueId;
use npukit_graph::op::{Reshape, Tile};

use super::super::context::Context;
use super::super::error::Reason;
use super::super::tensor;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "input")?;
    let from = context.shape(x).to_vec();
    if context.op_type() == "Expand" {
        let missing = Reason::OperandMissing { operand: "shape" };
        let to = tensor::shape(&context.integers(1, "shape")?.ok_or(missing)?)?;
        return Ok(vec![expand(context, x, &from, &to)?]);
    }
    let missing = Reason::OperandMissing { operand: "repeats" };
    let stated = context.integers(1, "repeats")?.ok_or(missing)?;
    let counts: Option<Vec<usize>> = stated.iter().map(|&count| usize::try_from(count).ok()).collect();
    match counts.filter(|counts| counts.len() == from.len()) {
        Some(repeats) => Ok(vec![context.emit(Tile { repeats }, vec![x])?]),
        None => {
            let legal = format!("one number of 0 or more for each axis of {from:?}");
            Err(Reason::OperandValue { operand: "repeats", found: format!("{stated:?}"), legal })
        }
    }
}

/// Broadcasts `x` with `to` by NumPy's rule, in both directions: sizes of `to` may be 1.
fn expand(context: &mut Context<'_>, x: ValueId, from: &[usize], to: &[usize]) -> Result<ValueId, Reason> {
    let missing = to.len().saturating_sub(from.len());
    let shape = [&vec![1; missing], from].concat();
    let target = std::iter::repeat_n(1, shape.len() - to.len()).chain(to.iter().copied());
    let repeats = shape.iter().zip(target).map(|(&size, target)| match (size, target) {
        (1, target) => Some(target),
        (size, target) if target == 1 || target == size => Some(1),
        _ => None,
    });
    let Some(repeats) = repeats.collect::<Option<Vec<_>>>() else {
        let (found, legal) = (format!("{to:?}"), format!("sizes that broadcast with {from:?}"));
        return Err(Reason::OperandValue { operand: "shape", found, legal });
    };
    let x = if missing > 0 { context.helper("axes", Reshape { shape }, vec![x])? } else { x };
    context.emit(Tile { repeats }, vec![x])
}
