//! Split: the sizes are an attribute before opset 13, and an operand since; opset 18 adds a count.

use npukit_graph::ValueId;
use npukit_graph::op::Split;

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "input")?;
    let shape = context.shape(x).to_vec();
    let axis = Context::axis("axis", context.attributes.int_or("axis", 0)?, shape.len())?;
    let parts = context.outputs();
    let stated = if context.opset < 13 {
        context.attributes.ints("split")?.map(<[i64]>::to_vec)
    } else {
        context.integers(1, "split")?
    };
    let sizes = match stated {
        Some(sizes) => given(&sizes, shape[axis], parts)?,
        None => equal(context, shape[axis], parts)?,
    };
    context.emit_all(Split { axis, sizes }, vec![x])
}

/// Checks stated sizes, whose number must be `parts` and whose sum must be `size`.
fn given(stated: &[i64], size: usize, parts: usize) -> Result<Vec<usize>, Reason> {
    let wrong =
        || unsupported("split", &stated[..stated.len().min(8)], format!("{parts} sizes with the sum {size}"));
    if stated.len() != parts {
        return Err(wrong());
    }
    let sizes = stated.iter().map(|&part| usize::try_from(part).ok().filter(|&part| part <= size));
    let sizes = sizes.collect::<Option<Vec<_>>>().ok_or_else(wrong)?;
    if sizes.iter().sum::<usize>() == size { Ok(sizes) } else { Err(wrong()) }
}

/// Returns equal parts; since opset 18, the last one may be smaller.
fn equal(context: &mut Context<'_>, size: usize, parts: usize) -> Result<Vec<usize>, Reason> {
    if let Some(count) = context.attributes.int("num_outputs")?
        && usize::try_from(count) != Ok(parts)
    {
        return Err(unsupported("num_outputs", count, format!("{parts}, as results are named")));
    }
    let part = size.div_ceil(parts.max(1));
    let uneven = parts == 0 || part * parts != size;
    if uneven && context.opset < 18 || part * parts.saturating_sub(1) > size {
        let found = format!("an axis of {size}");
        return Err(Reason::OperandValue {
            operand: "input",
            found,
            legal: format!("a multiple of {parts}"),
        });
    }
    Ok((0..parts).map(|index| part.min(size - index * part)).collect())
}
