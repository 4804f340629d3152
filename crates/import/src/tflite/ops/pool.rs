//! AVERAGE_POOL_2D, which ignores padding; L2_POOL_2D, the root of the mean of squares; and
//! MAX_POOL_2D.

use npukit_graph::ValueId;
use npukit_graph::op::{AveragePool, BinaryKind, MaxPool, Op, Unary, UnaryKind};

use super::super::context::Context;
use crate::error::Reason;

/// Translates one operator of the file and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let mut x = context.input(0, "input")?;
    let (strides, kernel) = (context.sizes(1, "stride", 0)?, context.sizes(3, "filter", 0)?);
    let window = context.window(x, kernel, strides, [1; 2])?;
    let op: Op = match context.op {
        "MAX_POOL_2D" => MaxPool { window }.into(),
        _ => AveragePool { window, count_include_pad: false }.into(),
    };
    let is_root = context.op == "L2_POOL_2D";
    if is_root {
        x = context.binary(BinaryKind::Mul, x, x)?;
    }
    let mut y = context.emit(op, vec![x])?;
    if is_root {
        y = context.helper("root", Unary { kind: UnaryKind::Sqrt }, vec![y])?;
    }
    Ok(vec![context.activated(y, 5)?])
}
