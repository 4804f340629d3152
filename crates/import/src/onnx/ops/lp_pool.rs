//! LpPool and GlobalLpPool: the root of a sum of powers. The sum over a window is a convolution of
//! each channel with ones.

use npukit_graph::ValueId;
use npukit_graph::op::{BinaryKind, Pow, ReduceKind, UnaryKind};

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;
use super::super::pool::sums;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "X")?;
    let p = context.attributes.int_or("p", 2)?;
    if p < 1 {
        return Err(unsupported("p", p, "1 or more"));
    }
    let powers = match p {
        2 => context.binary(BinaryKind::Mul, x, x)?,
        _ => {
            let magnitudes = context.unary(UnaryKind::Abs, x)?;
            power(context, magnitudes, p as f32)?
        }
    };
    let sums = if context.op_type() == "GlobalLpPool" {
        let axes = (2..context.shape(x).len()).collect();
        context.reduce(ReduceKind::Sum, powers, axes, true)?
    } else {
        sums(context, powers)?
    };
    Ok(vec![match p {
        2 => context.unary(UnaryKind::Sqrt, sums)?,
        _ => power(context, sums, 1.0 / p as f32)?,
    }])
}

/// Raises elements to the power of `exponent`; returns `x` for 1.
fn power(context: &mut Context<'_>, x: ValueId, exponent: f32) -> Result<ValueId, Reason> {
    if exponent == 1.0 {
        return Ok(x);
    }
    let exponent = context.scalar(x, exponent)?;
    context.helper("power", Pow, vec![x, exponent])
}
