//! FusedBatchNorm, V1 to V3, with the given statistics, or with the statistics of the operand.
//! Keras writes LayerNormalization in the latter form.

use npukit_graph::ValueId;
use npukit_graph::op::{BatchNormalization, Binary, BinaryKind, Reduce, ReduceKind, UnaryKind};

use super::super::context::Context;
use super::super::error::Reason;
use super::super::image::Layout;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let layout = Layout::of(context)?;
    let epsilon = context.attributes.float("epsilon", 1e-4)?;
    context.attributes.without_effect("exponential_avg_factor"); // of the running statistics
    let x = context.input(0, "x")?;
    let x = layout.to_nhwc(context, x, "x")?;
    let (scale, offset) = (context.input(1, "scale")?, context.input(2, "offset")?);
    let (mean, variance) = (context.optional(3), context.optional(4));
    let y = if context.attributes.flag("is_training", true)? {
        by_own_statistics(context, x, epsilon, [scale, offset])?
    } else {
        let mean = mean.ok_or(Reason::OperandMissing { operand: "mean" })?;
        let variance = variance.ok_or(Reason::OperandMissing { operand: "variance" })?;
        context.emit(BatchNormalization { epsilon }, vec![x, scale, offset, mean, variance])?
    };
    // The other results are only for training.
    Ok(vec![layout.restore(context, y)?])
}

/// Normalizes `x` with the mean and variance of each of its channels.
fn by_own_statistics(
    context: &mut Context<'_>,
    x: ValueId,
    epsilon: f32,
    [scale, offset]: [ValueId; 2],
) -> Result<ValueId, Reason> {
    let mean_of = || Reduce { kind: ReduceKind::Mean, axes: vec![0, 1, 2], keep_dims: true };
    let mean = context.helper("mean", mean_of(), vec![x])?;
    let centered = context.binary("centered", BinaryKind::Sub, x, mean)?;
    let squares = context.binary("squares", BinaryKind::Mul, centered, centered)?;
    let variance = context.helper("variance", mean_of(), vec![squares])?;
    let epsilon = context.scalar(epsilon)?;
    let variance = context.binary("above_zero", BinaryKind::Add, variance, epsilon)?;
    let deviation = context.unary("deviation", UnaryKind::Sqrt, variance)?;
    let normal = context.binary("normal", BinaryKind::Div, centered, deviation)?;
    let scaled = context.binary("scaled", BinaryKind::Mul, normal, scale)?;
    context.emit(Binary { kind: BinaryKind::Add }, vec![scaled, offset])
}
