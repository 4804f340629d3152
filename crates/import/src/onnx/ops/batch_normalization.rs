//! BatchNormalization in inference form; the channels become the last axis.

use npukit_graph::ValueId;
use npukit_graph::op::BatchNormalization;

use super::super::attributes::unsupported;
use super::super::channels::by_channel;
use super::super::context::Context;
use super::super::error::Reason;

/// Translates one node.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let mut operands = vec![context.input(0, "X")?];
    for (index, name) in (1..).zip(["scale", "B", "mean", "var"]) {
        operands.push(context.input(index, name)?);
    }
    let epsilon = context.attributes.float_or("epsilon", 1e-5)?;
    context.attributes.without_effect("momentum"); // of training
    if context.attributes.flag("training_mode", false)? {
        return Err(unsupported("training_mode", 1, "0"));
    }
    if context.opset < 9 && !context.attributes.flag("spatial", true)? {
        return Err(unsupported("spatial", 0, "1"));
    }
    by_channel(context, BatchNormalization { epsilon }, operands)
}
