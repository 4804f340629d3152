//! L2_NORMALIZATION over the last axis.

use npukit_graph::ValueId;
use npukit_graph::op::{Binary, BinaryKind, Clip, Reduce, ReduceKind};

use super::super::context::Context;
use crate::error::Reason;

/// Minimum divisor, as in TensorFlow Lite's float kernel.
const LEAST: f32 = 1e-6;

/// Translates one operator of the file and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "input")?;
    let axes = context.shape(x).len().checked_sub(1).into_iter().collect();
    let norm = context.helper("norm", Reduce { kind: ReduceKind::L2, axes, keep_dims: true }, vec![x])?;
    let norm = context.helper("bounded", Clip { min: LEAST, max: f32::INFINITY }, vec![norm])?;
    let y = context.emit(Binary { kind: BinaryKind::Div }, vec![x, norm])?;
    Ok(vec![context.activated(y, 0)?])
}
