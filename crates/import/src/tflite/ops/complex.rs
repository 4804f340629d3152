//! RFFT2D, and IMAG, REAL and COMPLEX_ABS of its results. Complex numbers are pairs of floats along
//! an additional last axis.

use npukit_graph::ValueId;
use npukit_graph::op::{Dft, Pad, PadMode, Reduce, ReduceKind, Reshape, Slice, SliceRange};

use super::super::context::Context;
use crate::error::Reason;
use crate::node::unsupported;
use crate::shape::MAX_ELEMENTS;

/// Translates one operator of the file and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "input")?;
    if context.op != "RFFT2D" && !context.is_complex() {
        return Err(unsupported("input", context.element(x), "complex64"));
    }
    Ok(vec![match context.op {
        "REAL" => part(context, x, 0)?,
        "IMAG" => part(context, x, 1)?,
        "COMPLEX_ABS" => {
            let axes = vec![context.shape(x).len().saturating_sub(1)];
            context.emit(Reduce { kind: ReduceKind::L2, axes, keep_dims: false }, vec![x])?
        }
        _ => transform(context, x)?,
    }])
}

/// Fourier transform of real numbers along the last two axes. The last axis keeps half of the
/// results.
fn transform(context: &mut Context<'_>, x: ValueId) -> Result<ValueId, Reason> {
    let lengths =
        context.integers(1, "fft_length")?.ok_or(Reason::OperandMissing { operand: "fft_length" })?;
    let legal =
        |length: i64| usize::try_from(length).ok().filter(|length| (1..=MAX_ELEMENTS).contains(length));
    let lengths: Option<Vec<usize>> = lengths.into_iter().map(legal).collect();
    let shape = context.shape(x).to_vec();
    let (Some(&[rows, columns]), true) = (lengths.as_deref(), shape.len() >= 2) else {
        let found = format!("{lengths:?} for {shape:?}");
        return Err(unsupported("fft_length", found, "rows and columns of a transform of two axes"));
    };
    let axis = shape.len() - 2;
    // The operand is padded with zeros or cropped to the number of points.
    let mut pads = vec![[0; 2]; shape.len()];
    pads[axis][1] = rows as isize - shape[axis] as isize;
    pads[axis + 1][1] = columns as isize - shape[axis + 1] as isize;
    let x = match pads.iter().all(|pads| *pads == [0; 2]) {
        true => x,
        false => context.helper("points", Pad { pads, mode: PadMode::Constant(0.0) }, vec![x])?,
    };
    let shape = [context.shape(x), &[1]].concat();
    let x = context.helper("real", Reshape { shape }, vec![x])?;
    let along = Dft { axis: axis + 1, length: columns, inverse: false, onesided: true };
    if rows == 1 {
        return context.emit(along, vec![x]);
    }
    let x = context.helper("rows", along, vec![x])?;
    context.emit(Dft { axis, length: rows, inverse: false, onesided: false }, vec![x])
}

/// Returns the real (0) or imaginary (1) parts of complex numbers.
pub(super) fn part(context: &mut Context<'_>, x: ValueId, part: usize) -> Result<ValueId, Reason> {
    let mut shape = context.shape(x).to_vec();
    let axis = shape.len().saturating_sub(1);
    shape.pop();
    let ranges = vec![SliceRange { axis, start: part, length: 1, step: 1 }];
    let part = context.helper("part", Slice { ranges }, vec![x])?;
    context.emit(Reshape { shape }, vec![part])
}
