//! Size and Shape: constants, as all shapes are known; since opset 15, a part of the shape.

use npukit_graph::ValueId;
use npukit_numeric::TensorData;

use super::super::context::Context;
use super::super::error::Reason;
use super::super::tensor::tensor;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "data")?;
    if context.op_type() == "Size" {
        let size: usize = context.shape(x).iter().product();
        return Ok(vec![context.make_constant(tensor(Vec::new(), TensorData::I64(vec![size as i64]))?)]);
    }
    let sizes: Vec<i64> = context.shape(x).iter().map(|&size| size as i64).collect();
    let start = bound(context.attributes.int_or("start", 0)?, sizes.len());
    let end = bound(context.attributes.int_or("end", i64::MAX)?, sizes.len());
    // Default: an end before the start gives an empty part.
    let part = sizes.get(start..end).unwrap_or_default().to_vec();
    let part = tensor(vec![part.len()], TensorData::I64(part))?;
    Ok(vec![context.make_constant(part)])
}

/// Start or end of the part, counted from the front and clamped to the rank.
fn bound(axis: i64, rank: usize) -> usize {
    let rank = rank as i64;
    let axis = if axis < 0 { axis.saturating_add(rank) } else { axis };
    axis.clamp(0, rank) as usize
}
