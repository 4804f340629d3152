//! QUANTIZE, DEQUANTIZE, DENSIFY and CAST. The types of the tensors determine their results; only a
//! change of type, for example from 16-bit to 32-bit floats, needs a node. CAST of complex numbers
//! takes the real parts.

use npukit_graph::ValueId;
use npukit_graph::op::Cast;

use super::super::context::Context;
use super::complex;
use crate::error::Reason;

/// Translates one operator of the file and returns its results.
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
