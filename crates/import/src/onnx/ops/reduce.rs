//! ReduceMean and the other reductions. The axes are an attribute before opset 18 (ReduceSum: 13),
//! and an operand since.

use npukit_graph::ValueId;
use npukit_graph::op::{Reduce, ReduceKind};

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let kind = kind(context)?;
    let x = context.input(0, "data")?;
    let since = if kind == ReduceKind::Sum { 13 } else { 18 };
    // Default: without axes, all are reduced, or none if `noop_with_empty_axes` is set.
    let stated = context.integers_since(since, 1, "axes")?.unwrap_or_default();
    let keep_dims = context.attributes.flag("keepdims", true)?;
    let nothing = context.opset >= since && context.attributes.flag("noop_with_empty_axes", false)?;
    let rank = context.shape(x).len();
    let axes = if stated.is_empty() && !nothing { (0..rank).collect() } else { axes(&stated, rank)? };
    Ok(vec![context.emit(Reduce { kind, axes, keep_dims }, vec![x])?])
}

fn kind(context: &Context<'_>) -> Result<ReduceKind, Reason> {
    Ok(match context.op_type() {
        "ReduceL1" => ReduceKind::L1,
        "ReduceL2" => ReduceKind::L2,
        "ReduceLogSum" => ReduceKind::LogSum,
        "ReduceLogSumExp" => ReduceKind::LogSumExp,
        "ReduceMax" => ReduceKind::Max,
        "ReduceMean" => ReduceKind::Mean,
        "ReduceMin" => ReduceKind::Min,
        "ReduceProd" => ReduceKind::Prod,
        "ReduceSum" => ReduceKind::Sum,
        "ReduceSumSquare" => ReduceKind::SumSquare,
        other => return Err(Reason::Operator { operator: other.to_owned() }),
    })
}

/// Converts axes to axes from 0, in ascending order.
fn axes(stated: &[i64], rank: usize) -> Result<Vec<usize>, Reason> {
    let mut axes =
        stated.iter().map(|&axis| Context::axis("axes", axis, rank)).collect::<Result<Vec<_>, _>>()?;
    axes.sort_unstable();
    if axes.windows(2).any(|pair| pair[0] == pair[1]) {
        return Err(unsupported("axes", stated, "each axis once"));
    }
    Ok(axes)
}
