//! ScatterElements, called Scatter before opset 11, and ScatterND. They become a Concat if the
//! indices are constant and form a box.

use npukit_graph::ValueId;
use npukit_graph::op::{ScatterElements, ScatterKind, ScatterNd};

use super::super::attributes::unsupported;
use super::super::boxes;
use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let operands = [context.input(0, "data")?, context.input(1, "indices")?, context.input(2, "updates")?];
    let kind = match context.attributes.string("reduction")?.as_deref() {
        None | Some("none") => ScatterKind::Replace,
        Some("add") => ScatterKind::Add,
        Some("mul") => ScatterKind::Mul,
        Some("max") => ScatterKind::Max,
        Some("min") => ScatterKind::Min,
        Some(other) => return Err(unsupported("reduction", other, "none, add, mul, max or min")),
    };
    let axis = match context.op_type() {
        "ScatterND" => None,
        _ => {
            let rank = context.shape(operands[0]).len();
            Some(Context::axis("axis", context.attributes.int_or("axis", 0)?, rank)?)
        }
    };
    if kind == ScatterKind::Replace
        && let Some(replaced) = replaced(context, operands, axis)?
    {
        return Ok(vec![replaced]);
    }
    let operands = operands.to_vec();
    Ok(vec![match axis {
        Some(axis) => context.emit(ScatterElements { axis, kind }, operands)?,
        None => context.emit(ScatterNd { kind }, operands)?,
    }])
}

/// Returns the result if the indices, along an axis or in tuples, are constant and form a dense
/// box.
fn replaced(
    context: &mut Context<'_>,
    [data, indices, updates]: [ValueId; 3],
    axis: Option<usize>,
) -> Result<Option<ValueId>, Reason> {
    let Some(known) = boxes::known(context, indices)? else { return Ok(None) };
    let (sizes, shape) = (context.shape(data).to_vec(), context.shape(indices).to_vec());
    let width = shape.last().copied().unwrap_or(0); // Default: no axis is refused by the operator.
    let places = match axis {
        Some(axis) => boxes::along_axis(&sizes, axis, &shape, &known),
        None => boxes::tuples(&sizes, width, &known),
    };
    let ranges = places.and_then(|places| boxes::of(&places)).filter(|ranges| boxes::is_dense(ranges));
    let Some(ranges) = ranges else { return Ok(None) };
    let lengths: Vec<usize> = ranges.iter().map(|range| range.length).collect();
    let part = [&lengths[..], &sizes[ranges.len()..]].concat();
    let expected = match (axis, shape.split_last()) {
        (None, Some((_, outer))) => [outer, &sizes[width..]].concat(),
        _ => shape,
    };
    if *context.shape(updates) != expected || context.element(updates) != context.element(data) {
        return Ok(None);
    }
    let updates = context.reshape(updates, part)?;
    boxes::replace(context, data, updates, &ranges).map(Some)
}
