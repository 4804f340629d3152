//! QUANTIZE, DEQUANTIZE, DENSIFY and CAST: the tensors say all, but for another type, as floats of 16 bits become ones of 32. Of
//! complex numbers CAST takes the real parts.

use npukit_graph::ValueId;
use npukit_graph::op::Cast;

use super::super::context::Context;
use super::complex;
use crate::error::Reason;

/// Translates one operator.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let mut x = context.input(0, "input")?;
    if context.is_complex() {
        x = complex::part(context, x, 0)?;
    }
    let to = context.result;
    Ok(vec![match context.element(x) == to {
        true => x,
        false => context.emit(Cast::new(to), vec![x])?,
    }])
}
