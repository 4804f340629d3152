//! InstanceNormalization; the channels become the last axis.

use npukit_graph::ValueId;
use npukit_graph::op::InstanceNormalization;

use super::super::channels::by_channel;
use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let operands = vec![context.input(0, "input")?, context.input(1, "scale")?, context.input(2, "B")?];
    let epsilon = context.attributes.float_or("epsilon", 1e-5)?;
    by_channel(context, InstanceNormalization { epsilon }, operands)
}
