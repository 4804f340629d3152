//! SVDF: filters over features and then over time, which use results of the last runs.

use npukit_graph::ValueId;
use npukit_graph::op::{BinaryKind, Concat, Gemm, ReduceKind, Slice, SliceRange};

use super::super::context::Context;
use crate::error::Reason;
use crate::node::unsupported;

/// Translates one operator of the file and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (x, features) = (context.input(0, "input")?, context.input(1, "weights_feature")?);
    let (time, bias) = (context.input(2, "weights_time")?, context.optional(3));
    let state = context.input(4, "state")?;
    let rank = context.size(0, "rank", 0)?;
    let (&[batch, _], &[filters, memory]) = (context.shape(x), context.shape(time)) else {
        return Err(unsupported("weights_time", context.shape(time), "filters and their memory"));
    };
    let units = filters / rank;
    if filters % rank != 0 || memory == 0 || context.shape(state) != [batch, filters * memory] {
        let found = format!("{:?} of {filters} filters, rank {rank}", context.shape(state));
        return Err(unsupported("state", found, format!("[{batch}, {}]", filters * memory)));
    }
    let given = context.helper("features", Gemm { trans_b: true, ..Gemm::PLAIN }, vec![x, features])?;
    let mut parts = vec![context.reshaped("newest", given, vec![batch, filters, 1])?];
    if memory > 1 {
        let state = context.reshaped("memory", state, vec![batch, filters, memory])?;
        let ranges = vec![SliceRange { axis: 2, start: 1, length: memory - 1, step: 1 }];
        parts.insert(0, context.helper("older", Slice { ranges }, vec![state])?);
    }
    let now = match parts[..] {
        [one] => one,
        _ => context.helper("now", Concat { axis: 2 }, parts)?,
    };
    let kept = context.reshaped("kept", now, vec![batch, filters * memory])?;
    context.keep(4, kept);
    let weighted = context.binary(BinaryKind::Mul, now, time)?;
    let by_unit = context.reshaped("by_unit", weighted, vec![batch, units, rank * memory])?;
    let y = context.reduce(ReduceKind::Sum, by_unit, vec![2], false)?;
    let y = match bias {
        Some(bias) => context.binary(BinaryKind::Add, y, bias)?,
        None => y,
    };
    Ok(vec![context.activated(y, 1)?])
}
