//! MeanVarianceNormalization: difference from the mean, divided by the standard deviation, over
//! some axes.

use npukit_graph::ValueId;
use npukit_graph::op::{BinaryKind, ReduceKind, UnaryKind};

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;

/// Term added to the deviation, from the standard's definition by other operators.
const EPSILON: f32 = 1e-9;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "X")?;
    let rank = context.shape(x).len();
    let stated = context.attributes.ints("axes")?.unwrap_or(&[0, 2, 3]);
    let axes = stated.iter().map(|&axis| Context::axis("axes", axis, rank)).collect::<Result<Vec<_>, _>>();
    let mut axes = axes?;
    axes.sort_unstable();
    if axes.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(unsupported("axes", stated, "each axis once"));
    }
    let mean = context.reduce(ReduceKind::Mean, x, axes.clone(), true)?;
    let centered = context.binary(BinaryKind::Sub, x, mean)?;
    let squares = context.binary(BinaryKind::Mul, centered, centered)?;
    let variance = context.reduce(ReduceKind::Mean, squares, axes, true)?;
    let deviation = context.unary(UnaryKind::Sqrt, variance)?;
    let epsilon = context.scalar(x, EPSILON)?;
    let deviation = context.binary(BinaryKind::Add, deviation, epsilon)?;
    Ok(vec![context.binary(BinaryKind::Div, centered, deviation)?])
}
