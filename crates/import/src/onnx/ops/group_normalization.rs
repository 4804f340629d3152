//! GroupNormalization; the channels become the last axis. Scale and bias are per group before opset
//! 21, and per channel since.

use npukit_graph::ValueId;
use npukit_graph::op::{Gather, GroupNormalization};
use npukit_numeric::TensorData;

use super::super::attributes::unsupported;
use super::super::channels::by_channel;
use super::super::context::Context;
use super::super::error::Reason;
use super::super::tensor::tensor;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let mut operands = vec![context.input(0, "X")?, context.input(1, "scale")?, context.input(2, "bias")?];
    let stated =
        context.attributes.int("num_groups")?.ok_or(Reason::AttributeMissing { name: "num_groups" })?;
    // Default: an operand without a channel axis has 0 channels, and inference refuses it.
    let channels = context.shape(operands[0]).get(1).copied().unwrap_or(0);
    let fits = |groups: &usize| *groups > 0 && channels.is_multiple_of(*groups);
    let groups = usize::try_from(stated).ok().filter(fits);
    let groups =
        groups.ok_or_else(|| unsupported("num_groups", stated, format!("a divisor of {channels}")))?;
    let epsilon = context.attributes.float_or("epsilon", 1e-5)?;
    context.attributes.without_effect("stash_type"); // we compute in 32-bit floats
    if context.opset < 21 {
        let width = channels / groups;
        context.reserve(&[channels])?;
        let group_of: Vec<i64> = (0..channels).map(|channel| (channel / width) as i64).collect();
        let group_of = context.make_constant(tensor(vec![channels], TensorData::I64(group_of))?);
        for (operand, suffix) in operands[1..].iter_mut().zip(["scale", "bias"]) {
            *operand = context.helper(suffix, Gather { axis: 0 }, vec![*operand, group_of])?;
        }
    }
    by_channel(context, GroupNormalization { groups, epsilon }, operands)
}
