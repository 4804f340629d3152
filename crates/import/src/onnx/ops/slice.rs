//! Slice: attributes before opset 10; operands, and steps, since.

use npukit_graph::ValueId;
use npukit_graph::op::{Slice, SliceRange};

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;
use crate::slice::range;

/// Adds the operators of one node to the graph and returns its results.
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
