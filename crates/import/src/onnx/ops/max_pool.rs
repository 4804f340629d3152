//! MaxPool over one to three axes; the indices of the maxima over one or two.

use npukit_graph::ValueId;
use npukit_graph::op::{Cast, MaxPool, MaxPoolIndices};
use npukit_numeric::ElementType;

use super::super::context::Context;
use super::super::error::Reason;
use super::super::pool::pool;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "X")?;
    let element = context.element(x);
    // Floats represent all 8-bit integers exactly, so their maximum is the same.
    let is_byte = matches!(element, ElementType::I8 | ElementType::U8);
    let x = if is_byte { context.helper("floats", Cast::new(ElementType::F32), vec![x])? } else { x };
    let y = pool(context, x, |window| MaxPool { window }.into())?;
    let y = if is_byte { context.helper("bytes", Cast::new(element), vec![y])? } else { y };
    let column_major = context.attributes.flag("storage_order", false)?;
    // Three axes are pooled one after the other, which loses the indices.
    if !context.is_wanted(1) || context.shape(x).len() > 4 {
        return Ok(vec![y]);
    }
    let indices = pool(context, x, |window| MaxPoolIndices { window, column_major }.into())?;
    Ok(vec![y, indices])
}
