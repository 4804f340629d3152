//! ReverseV2: reverses axes. Roll: rotates axes.

use npukit_graph::ValueId;
use npukit_graph::op::{Concat, Reshape, Slice, SliceRange};

use super::super::context::Context;
use super::super::error::Reason;
use crate::node::{NodeBuilder, unsupported};

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    if context.op() == "Roll" { roll(context) } else { reverse(context) }
}

fn reverse(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "tensor")?;
    let stated = context.required_integers(1, "axis")?;
    let mut ranges: Vec<SliceRange> = Vec::new();
    for axis in stated {
        let axis = NodeBuilder::axis("axis", axis, context.shape(x).len())?;
        if ranges.iter().any(|range| range.axis == axis) {
            return Err(unsupported("axis", axis, "each axis once"));
        }
        let length = context.shape(x)[axis];
        if length > 1 {
            ranges.push(SliceRange { axis, start: length - 1, length, step: -1 });
        }
    }
    let shape = context.shape(x).to_vec();
    Ok(vec![match ranges.is_empty() {
        true => context.emit(Reshape { shape }, vec![x])?,
        false => context.emit(Slice { ranges }, vec![x])?,
    }])
}

fn roll(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let mut x = context.input(0, "input")?;
    let (shifts, axes) = (context.required_integers(1, "shift")?, context.required_integers(2, "axis")?);
    if shifts.len() != axes.len() {
        return Err(unsupported("axis", axes, format!("one per shift, {}", shifts.len())));
    }
    for (shift, axis) in shifts.into_iter().zip(axes) {
        let axis = NodeBuilder::axis("axis", axis, context.shape(x).len())?;
        let size = context.shape(x)[axis];
        let first = match i64::try_from(size) {
            Ok(size) if size > 0 => shift.rem_euclid(size) as usize,
            _ => 0,
        };
        if first == 0 {
            continue;
        }
        let part = |start, length| Slice { ranges: vec![SliceRange { axis, start, length, step: 1 }] };
        let end = context.helper("end", part(size - first, first), vec![x])?;
        let begin = context.helper("begin", part(0, size - first), vec![x])?;
        x = context.helper("rolled", Concat { axis }, vec![end, begin])?;
    }
    let shape = context.shape(x).to_vec();
    Ok(vec![context.emit(Reshape { shape }, vec![x])?])
}
