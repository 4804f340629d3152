//! AveragePool and MaxPool over one to three axes, with the indices of the maxima over one or two.
//! GlobalAveragePool and GlobalMaxPool over the whole image.

use npukit_graph::ValueId;
use npukit_graph::op::{AveragePool, Cast, MaxPool, MaxPoolIndices};
use npukit_numeric::ElementType;

use super::super::context::Context;
use super::super::error::Reason;
use super::super::pool::{global_pool, pool};

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "X")?;
    let y = match context.op_type() {
        "AveragePool" => {
            let count_include_pad = context.attributes.flag("count_include_pad", false)?;
            pool(context, x, |window| AveragePool { window, count_include_pad }.into())?
        }
        "GlobalAveragePool" => {
            global_pool(context, x, |window| AveragePool { window, count_include_pad: false }.into())?
        }
        "GlobalMaxPool" => global_pool(context, x, |window| MaxPool { window }.into())?,
        _ => return max_pool(context, x),
    };
    Ok(vec![y])
}

fn max_pool(context: &mut Context<'_>, x: ValueId) -> Result<Vec<ValueId>, Reason> {
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
