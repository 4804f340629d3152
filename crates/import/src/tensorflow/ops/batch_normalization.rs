//! FusedBatchNorm, V1 to V3, in inference form.

use npukit_graph::ValueId;
use npukit_graph::op::BatchNormalization;

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;
use super::super::image::Layout;

/// Translates one node.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let layout = Layout::of(context)?;
    let epsilon = context.attributes.float("epsilon", 1e-4)?;
    context.attributes.without_effect("exponential_avg_factor"); // of training
    if context.attributes.flag("is_training", true)? {
        return Err(unsupported("is_training", true, "false; freeze the network for inference"));
    }
    let x = context.input(0, "x")?;
    let mut operands = vec![layout.to_nhwc(context, x, "x")?];
    for (index, name) in (1..).zip(["scale", "offset", "mean", "variance"]) {
        operands.push(context.input(index, name)?);
    }
    let y = context.emit(BatchNormalization { epsilon }, operands)?;
    // What else it gives is for training.
    Ok(vec![layout.restore(context, y)?])
}
