//! ReverseSequence: reverses the first elements along one axis. The second operand gives their
//! number for each position along another axis.

use npukit_graph::ValueId;
use npukit_graph::op::{BinaryKind, CompareKind, GatherNd, Reshape, Slice, SliceRange, Transpose};
use npukit_numeric::ElementType;

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (x, lengths) = (context.input(0, "input")?, context.input(1, "sequence_lens")?);
    let shape = context.shape(x).to_vec();
    let batch = Context::axis("batch_axis", context.attributes.int_or("batch_axis", 1)?, shape.len())?;
    let time = Context::axis("time_axis", context.attributes.int_or("time_axis", 0)?, shape.len())?;
    if batch == time {
        return Err(unsupported("batch_axis", batch, "another axis than time_axis"));
    }
    if context.shape(lengths) != [shape[batch]] {
        let (found, legal) = (format!("{:?}", context.shape(lengths)), format!("[{}]", shape[batch]));
        return Err(Reason::OperandValue { operand: "sequence_lens", found, legal });
    }
    if let Some(range) = whole(context, lengths, time, shape[time])? {
        return Ok(vec![context.emit(Slice { ranges: vec![range] }, vec![x])?]);
    }
    let others = (0..shape.len()).filter(|&axis| axis != batch && axis != time);
    let order: Vec<usize> = [batch, time].into_iter().chain(others).collect();
    let back =
        (0..shape.len()).map(|axis| order.iter().position(|&from| from == axis).unwrap_or(axis)).collect();
    let rows = context.permute(x, &order, "batch_first")?;
    let positions = positions(context, lengths, shape[batch], shape[time])?;
    let y = context.emit(GatherNd { batch_dims: 1 }, vec![rows, positions])?;
    Ok(vec![context.helper("as_before", Transpose { perm: back }, vec![y])?])
}

/// Slice that reverses the whole axis, if all lengths are constant and equal its size.
fn whole(
    context: &Context<'_>,
    lengths: ValueId,
    axis: usize,
    size: usize,
) -> Result<Option<SliceRange>, Reason> {
    if !context.is_constant(lengths) || size == 0 {
        return Ok(None);
    }
    let constant = context.constant(lengths, "sequence_lens")?;
    let all = constant.reals().iter().all(|&length| length == size as f64);
    Ok(all.then(|| SliceRange { axis, start: size - 1, length: size, step: if size == 1 { 1 } else { -1 } }))
}

/// Source position of each element: `length - 1 - t` before the length, `t` after it.
fn positions(
    context: &mut Context<'_>,
    lengths: ValueId,
    batch: usize,
    time: usize,
) -> Result<ValueId, Reason> {
    context.reserve(&[batch, time])?;
    let times = context.indices(vec![1, time], (0..time as i64).collect())?;
    let lengths = context.cast(lengths, ElementType::I64)?;
    let lengths = context.reshape(lengths, vec![batch, 1])?;
    let one = context.indices(Vec::new(), vec![1])?;
    let last = context.binary(BinaryKind::Sub, lengths, one)?;
    let mirrored = context.binary(BinaryKind::Sub, last, times)?;
    let inside = context.compare(CompareKind::Less, times, lengths)?;
    let positions = context.choose(inside, mirrored, times)?;
    context.helper("positions", Reshape { shape: vec![batch, time, 1] }, vec![positions])
}
