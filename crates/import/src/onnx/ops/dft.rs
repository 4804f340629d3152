//! DFT: the axis is an attribute at opset 17, and an operand since opset 20.

use npukit_graph::ValueId;
use npukit_graph::op::{BinaryKind, Concat, Dft, Pad, PadMode, Slice, SliceRange};

use super::super::context::Context;
use super::super::error::Reason;
use super::super::tensor::MAX_ELEMENTS;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "input")?;
    let shape = context.shape(x).to_vec();
    let stated = match context.opset < 20 {
        true => context.attributes.int_or("axis", 1)?,
        false => integer(context, 2, "axis")?.unwrap_or(-2),
    };
    let axis = Context::axis("axis", stated, shape.len())?;
    let own = shape[axis];
    let inverse = context.attributes.flag("inverse", false)?;
    let onesided = context.attributes.flag("onesided", false)?;
    let length = match integer(context, 1, "dft_length")? {
        // The operand holds half of the points and the middle one.
        None if inverse && onesided => 2 * own.saturating_sub(1),
        None => own,
        Some(length) => usize::try_from(length).ok().filter(|&length| length > 0).ok_or_else(|| {
            let (found, legal) = (length.to_string(), "at least 1".to_owned());
            Reason::OperandValue { operand: "dft_length", found, legal }
        })?,
    };
    if inverse && onesided {
        let points = conjugates(context, x, axis, length)?;
        let y = context.emit(Dft { axis, length, inverse, onesided: false }, vec![points])?;
        let real = SliceRange { axis: shape.len() - 1, start: 0, length: 1, step: 1 };
        return Ok(vec![context.helper("real", Slice { ranges: vec![real] }, vec![y])?]);
    }
    Ok(vec![context.emit(Dft { axis, length, inverse, onesided }, vec![x])?])
}

/// Completes the `length` points of a real signal's transform. `x` has the first half; the other
/// points are their conjugates.
fn conjugates(context: &mut Context<'_>, x: ValueId, axis: usize, length: usize) -> Result<ValueId, Reason> {
    let shape = context.shape(x).to_vec();
    if length == 0 || shape.last() != Some(&2) || axis + 1 >= shape.len() || length > MAX_ELEMENTS {
        let (found, legal) =
            (format!("{shape:?}"), "complex numbers [.., 2] of more than one point".to_owned());
        return Err(Reason::OperandValue { operand: "input", found, legal });
    }
    let (half, rest) = (length / 2 + 1, length - length / 2 - 1);
    let mut pads = vec![[0; 2]; shape.len()];
    pads[axis][1] = half as isize - shape[axis] as isize;
    let first = context.helper("half", Pad { pads, mode: PadMode::Constant(0.0) }, vec![x])?;
    if rest == 0 {
        return Ok(first);
    }
    let step = if rest == 1 { 1 } else { -1 };
    let range = SliceRange { axis, start: rest, length: rest, step };
    let mirrored = context.helper("mirrored", Slice { ranges: vec![range] }, vec![first])?;
    let signs = context.floats_like(x, vec![2], vec![1.0, -1.0])?;
    let mirrored = context.binary(BinaryKind::Mul, mirrored, signs)?;
    context.helper("points", Concat { axis }, vec![first, mirrored])
}

/// Returns a constant operand of one integer, or `None` if it is absent.
fn integer(context: &mut Context<'_>, index: usize, operand: &'static str) -> Result<Option<i64>, Reason> {
    match context.integers(index, operand)?.as_deref() {
        None => Ok(None),
        Some(&[integer]) => Ok(Some(integer)),
        Some(other) => {
            let found = format!("{other:?}");
            Err(Reason::OperandValue { operand, found, legal: "one integer".to_owned() })
        }
    }
}
