//! Upsample (up to opset 9): Resize with scales, which are an attribute before opset 9.

use npukit_graph::ValueId;

use super::super::context::Context;
use super::super::error::Reason;
use super::resize;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "X")?;
    let scales = if context.opset < 9 {
        context.attributes.floats("scales")?.map(<[f32]>::to_vec)
    } else {
        context.floats(1, "scales")?
    };
    let scales = scales.ok_or(Reason::AttributeMissing { name: "scales" })?;
    resize::without_coordinates(context, "Upsample", x, &scales)
}
