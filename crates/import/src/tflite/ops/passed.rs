//! QUANTIZE and DEQUANTIZE: the tensors say all, but for floats of 16 bits, which become ones of 32.

use npukit_graph::ValueId;
use npukit_graph::op::Cast;

use super::super::context::Context;
use crate::error::Reason;

/// Translates one operator.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "input")?;
    let to = context.result;
    Ok(vec![match context.element(x) == to {
        true => x,
        false => context.emit(Cast::new(to), vec![x])?,
    }])
}
