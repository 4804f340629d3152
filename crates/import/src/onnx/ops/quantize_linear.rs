//! QuantizeLinear: one scale, scales along an axis (since opset 13) or per block (since opset 21).

use npukit_graph::ValueId;
use npukit_graph::op::QuantizeLinear;
use npukit_numeric::ElementType;

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;
use super::super::tensor::element_type;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (x, scale) = (context.input(0, "x")?, context.input(1, "y_scale")?);
    let zero_point = context.optional(2);
    let stated = type_attribute(context, "output_dtype")?;
    let of_zero_point = zero_point.map(|id| context.element(id));
    let to = match (stated, of_zero_point) {
        (Some(stated), Some(found)) if stated != found => {
            return Err(unsupported("output_dtype", stated.name(), format!("{found}, as y_zero_point")));
        }
        (stated, found) => stated.or(found).unwrap_or(ElementType::U8),
    };
    let precision = match (type_attribute(context, "precision")?, context.element(scale)) {
        (Some(precision), _) if precision.is_float() => precision,
        (Some(precision), _) => return Err(unsupported("precision", precision.name(), "a float type")),
        // Quotients are not powers of two.
        (None, ElementType::F8E8M0) => ElementType::F32,
        (None, scale) => scale,
    };
    let saturate = context.attributes.flag("saturate", true)?;
    let (axis, block) = axis_and_block(context, x, scale)?;
    let op = QuantizeLinear { to, axis, block, saturate, precision, away: false };
    Ok(vec![context.emit(op, [x, scale].into_iter().chain(zero_point).collect())?])
}

/// Returns an element type given by its code, or `None` if it is absent or 0.
pub(super) fn type_attribute(
    context: &mut Context<'_>,
    name: &'static str,
) -> Result<Option<ElementType>, Reason> {
    match context.attributes.int(name)? {
        None | Some(0) => Ok(None),
        Some(code) => element_type(i32::try_from(code).unwrap_or(i32::MAX)).map(Some),
    }
}

/// Returns the axis from 0 (arbitrary if there is one scale) and the block size, 0 without blocks.
pub(super) fn axis_and_block(
    context: &mut Context<'_>,
    x: ValueId,
    scale: ValueId,
) -> Result<(usize, usize), Reason> {
    let axis = context.attributes.int_or("axis", 1)?;
    let block = context.attributes.int_or("block_size", 0)?;
    let block = usize::try_from(block).map_err(|_| unsupported("block_size", block, "0 or more"))?;
    if block == 0 && matches!(context.shape(scale), [] | [1]) {
        return Ok((0, 0));
    }
    Ok((Context::axis("axis", axis, context.shape(x).len())?, block))
}
