//! LRN: normalization over the neighboring channels, `depth_radius` on both sides.

use npukit_graph::ValueId;
use npukit_graph::op::Lrn;

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;
use super::super::image::require_rank_4;
use crate::shape::MAX_ELEMENTS;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "input")?;
    require_rank_4(context, x, "input")?;
    let radius = context.attributes.int_or("depth_radius", 5)?;
    let alpha = context.attributes.float("alpha", 1.0)?;
    let beta = context.attributes.float("beta", 0.5)?;
    let bias = context.attributes.float("bias", 1.0)?;
    let Some(radius) = usize::try_from(radius).ok().filter(|&radius| radius <= MAX_ELEMENTS) else {
        return Err(unsupported("depth_radius", radius, format!("0 to {MAX_ELEMENTS}")));
    };
    let size = 2 * radius + 1;
    // The graph divides the factor by the size, as ONNX does.
    Ok(vec![context.emit(Lrn { size, alpha: alpha * size as f32, beta, bias }, vec![x])?])
}
