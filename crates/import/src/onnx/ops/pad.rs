//! Pad: attributes before opset 11, operands since.

use npukit_graph::ValueId;
use npukit_graph::op::{Pad, PadMode};

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "data")?;
    let stated = context.integers_since(11, 1, "pads")?.ok_or(Reason::AttributeMissing { name: "pads" })?;
    let value = if context.opset < 11 {
        context.attributes.float("value")?
    } else {
        context.number(2, "constant_value")?
    };
    if !context.element(x).is_float() {
        check_integer(value.unwrap_or(0.0))?;
    }
    let mode = match context.attributes.string("mode")?.as_deref() {
        None | Some("constant") => PadMode::Constant(value.unwrap_or(0.0)),
        Some("edge") => PadMode::Edge,
        Some("reflect") => PadMode::Reflect,
        Some("wrap") => PadMode::Wrap,
        Some(other) => return Err(unsupported("mode", other, "constant, edge, reflect or wrap")),
    };
    let rank = context.shape(x).len();
    let axes = match context.integers(3, "axes")? {
        None => (0..rank).collect(),
        Some(axes) => {
            axes.iter().map(|&axis| Context::axis("axes", axis, rank)).collect::<Result<Vec<_>, _>>()?
        }
    };
    if (1..axes.len()).any(|index| axes[..index].contains(&axes[index])) {
        return Err(unsupported("axes", axes, "each axis once"));
    }
    let pads = per_axis(&stated, &axes, rank)?;
    Ok(vec![context.emit(Pad { pads, mode }, vec![x])?])
}

/// Checks that a float represents the integer exactly (up to 2^24), as the graph stores the
/// constant as a float.
fn check_integer(value: f32) -> Result<(), Reason> {
    const LIMIT: f32 = 16_777_216.0;
    if value.fract() == 0.0 && value.abs() < LIMIT {
        return Ok(());
    }
    let legal = format!("an integer between -{LIMIT} and {LIMIT} for a tensor of integers");
    Err(Reason::OperandValue { operand: "constant_value", found: format!("{value}"), legal })
}

/// Largest number of elements added or cropped at an end: the maximum size of a value.
const MAX_PAD: i64 = super::super::tensor::MAX_ELEMENTS as i64;

/// Converts pads of `axes` to pads of all `rank` axes. The pads list all begins, then all ends.
fn per_axis(stated: &[i64], axes: &[usize], rank: usize) -> Result<Vec<[isize; 2]>, Reason> {
    let legal = || format!("{} numbers from {} to {MAX_PAD}", 2 * axes.len(), -MAX_PAD);
    if stated.len() != 2 * axes.len() || stated.iter().any(|pad| !(-MAX_PAD..=MAX_PAD).contains(pad)) {
        return Err(unsupported("pads", stated, legal()));
    }
    let (before, after) = stated.split_at(axes.len());
    let mut pads = vec![[0; 2]; rank];
    for ((&axis, &before), &after) in axes.iter().zip(before).zip(after) {
        pads[axis] = [before as isize, after as isize];
    }
    Ok(pads)
}
