//! Shrink: moves elements toward 0; elements near 0 become 0.

use npukit_graph::ValueId;
use npukit_graph::op::{BinaryKind, CompareKind};
use npukit_numeric::ElementType;

use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results. Integers are computed as
/// floats.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "input")?;
    let element = context.element(x);
    let (lambda, bias) =
        (context.attributes.float_or("lambd", 0.5)?, context.attributes.float_or("bias", 0.0)?);
    let x = if element.is_float() { x } else { context.cast(x, ElementType::F32)? };
    let mut result = context.scalar(x, 0.0)?;
    for (kind, threshold, step) in [(CompareKind::Greater, lambda, -bias), (CompareKind::Less, -lambda, bias)]
    {
        let (threshold, step) = (context.scalar(x, threshold)?, context.scalar(x, step)?);
        let beyond = context.compare(kind, x, threshold)?;
        let moved = context.binary(BinaryKind::Add, x, step)?;
        result = context.choose(beyond, moved, result)?;
    }
    Ok(vec![context.cast(result, element)?])
}
