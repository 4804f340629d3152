//! LayerNormalization, with the statistics for training if they are used.

use npukit_graph::ValueId;
use npukit_graph::op::{Binary, BinaryKind, LayerNormalization, Reduce, ReduceKind, Unary, UnaryKind};
use npukit_numeric::TensorData;

use super::super::context::Context;
use super::super::error::Reason;
use crate::elements::typed;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (x, scale) = (context.input(0, "X")?, context.input(1, "Scale")?);
    let operands = [x, scale].into_iter().chain(context.optional(2)).collect();
    let rank = context.shape(x).len();
    let axis = Context::axis("axis", context.attributes.int_or("axis", -1)?, rank)?;
    let epsilon = context.attributes.float_or("epsilon", 1e-5)?;
    context.attributes.without_effect("stash_type"); // we compute in 32-bit floats
    let y = context.emit(LayerNormalization { axis, epsilon }, operands)?;
    if context.outputs() == 1 {
        return Ok(vec![y]);
    }
    let [mean, deviation] = statistics(context, x, (axis..rank).collect(), epsilon)?;
    Ok(vec![y, mean, deviation])
}

/// Returns the mean over the axes, and 1 over the standard deviation.
fn statistics(
    context: &mut Context<'_>,
    x: ValueId,
    axes: Vec<usize>,
    epsilon: f32,
) -> Result<[ValueId; 2], Reason> {
    let average = Reduce { kind: ReduceKind::Mean, axes, keep_dims: true };
    let mean = context.helper("mean", average.clone(), vec![x])?;
    let centered = context.helper("centered", Binary { kind: BinaryKind::Sub }, vec![x, mean])?;
    let squares = context.helper("squares", Binary { kind: BinaryKind::Mul }, vec![centered, centered])?;
    let variance = context.helper("variance", average, vec![squares])?;
    let epsilon = typed(context.element(x), Vec::new(), TensorData::F32(vec![epsilon]))?;
    let epsilon = context.make_constant(epsilon);
    let sum = context.helper("sum", Binary { kind: BinaryKind::Add }, vec![variance, epsilon])?;
    let deviation = context.helper("deviation", Unary { kind: UnaryKind::Sqrt }, vec![sum])?;
    let inverse = context.helper("inverse", Unary { kind: UnaryKind::Reciprocal }, vec![deviation])?;
    Ok([mean, inverse])
}
