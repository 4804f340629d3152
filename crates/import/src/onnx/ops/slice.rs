//! Slice: attributes before opset 10, operands (and steps) from there on.

use npukit_graph::ValueId;
use npukit_graph::op::{Slice, SliceRange};

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;

/// Translates one node.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "data")?;
    let starts =
        context.integers_since(10, 1, "starts")?.ok_or(Reason::OperandMissing { operand: "starts" })?;
    let ends = context.integers_since(10, 2, "ends")?.ok_or(Reason::OperandMissing { operand: "ends" })?;
    let axes = context.integers_since(10, 3, "axes")?.unwrap_or_else(|| (0..starts.len() as i64).collect());
    let steps = if context.opset < 10 { None } else { context.integers(4, "steps")? };
    let steps = steps.unwrap_or_else(|| vec![1; starts.len()]);
    if [ends.len(), axes.len(), steps.len()] != [starts.len(); 3] {
        let found = [starts.len(), ends.len(), axes.len(), steps.len()];
        return Err(unsupported("starts, ends, axes, steps", found, "one of each per axis"));
    }
    let shape = context.shape(x).to_vec();
    let mut ranges: Vec<SliceRange> = Vec::with_capacity(starts.len());
    for index in 0..starts.len() {
        let axis = Context::axis("axes", axes[index], shape.len())?;
        if ranges.iter().any(|range| range.axis == axis) {
            return Err(unsupported("axes", axes, "each axis once"));
        }
        ranges.push(range(axis, shape[axis], starts[index], ends[index], steps[index])?);
    }
    Ok(vec![context.emit(Slice { ranges }, vec![x])?])
}

/// The part of an axis of `size` that NumPy's `start:end:step` takes.
fn range(axis: usize, size: usize, start: i64, end: i64, step: i64) -> Result<SliceRange, Reason> {
    let count = size as i64;
    let from_front = |index: i64| if index < 0 { index.saturating_add(count) } else { index };
    // Going up, indices end at `count`; going down they begin at the last and end before 0.
    let (lowest, highest) = if step > 0 { (0, count) } else { (-1, count - 1) };
    let first = from_front(start).clamp(lowest.max(0).min(highest), highest);
    let last = from_front(end).clamp(lowest, highest);
    let distance = if step > 0 { last - first } else { first - last };
    let length = match step.unsigned_abs() {
        0 => return Err(unsupported("steps", step, "any number but 0")),
        step if distance > 0 => (distance as u64).div_ceil(step) as usize,
        _ => 0,
    };
    // An empty part begins nowhere, a part of one element has no step.
    let start = if length == 0 { 0 } else { first as usize };
    let step = if length <= 1 { 1 } else { step as isize };
    Ok(SliceRange { axis, start, length, step })
}
