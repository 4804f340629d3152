//! InstanceNormalization and LRN; the channels become the last axis.

use npukit_graph::ValueId;
use npukit_graph::op::{InstanceNormalization, Lrn};

use super::super::attributes::unsupported;
use super::super::channels::by_channel;
use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    if context.op_type() == "InstanceNormalization" {
        let operands = vec![context.input(0, "input")?, context.input(1, "scale")?, context.input(2, "B")?];
        let epsilon = context.attributes.float_or("epsilon", 1e-5)?;
        return by_channel(context, InstanceNormalization { epsilon }, operands);
    }
    let x = context.input(0, "X")?;
    let stated = context.attributes.int("size")?.ok_or(Reason::AttributeMissing { name: "size" })?;
    let size = usize::try_from(stated).ok().filter(|&size| size > 0);
    let size = size.ok_or_else(|| unsupported("size", stated, "at least 1"))?;
    let alpha = context.attributes.float_or("alpha", 1e-4)?;
    let beta = context.attributes.float_or("beta", 0.75)?;
    let bias = context.attributes.float_or("bias", 1.0)?;
    by_channel(context, Lrn { size, alpha, beta, bias }, vec![x])
}
