//! Gather: elements at indices along an axis. GatherElements and GatherND are a Slice if their
//! indices are constant and form a slice.

use npukit_graph::ValueId;
use npukit_graph::op::{Gather, GatherElements, GatherNd, Slice};

use super::super::attributes::unsupported;
use super::super::boxes;
use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (data, indices) = (context.input(0, "data")?, context.input(1, "indices")?);
    match context.op_type() {
        "GatherElements" => return elements(context, data, indices),
        "GatherND" => return tuples(context, data, indices),
        _ => {}
    }
    let rank = context.shape(data).len();
    let axis = Context::axis("axis", context.attributes.int_or("axis", 0)?, rank)?;
    // Inference examines every constant index. A file that uses one long list many times must not
    // cost more than its size.
    if context.is_constant(indices) {
        let shape = context.shape(indices).to_vec();
        context.reserve(&shape)?;
    }
    Ok(vec![context.emit(Gather { axis }, vec![data, indices])?])
}

fn elements(context: &mut Context<'_>, data: ValueId, indices: ValueId) -> Result<Vec<ValueId>, Reason> {
    let rank = context.shape(data).len();
    let axis = Context::axis("axis", context.attributes.int_or("axis", 0)?, rank)?;
    if let Some(known) = boxes::known(context, indices)? {
        let (sizes, shape) = (context.shape(data).to_vec(), context.shape(indices).to_vec());
        let places = boxes::along_axis(&sizes, axis, &shape, &known);
        if let Some(ranges) = places.and_then(|places| boxes::of(&places)) {
            let part = context.emit(Slice { ranges }, vec![data])?;
            return Ok(vec![context.reshape(part, shape)?]);
        }
    }
    Ok(vec![context.emit(GatherElements { axis }, vec![data, indices])?])
}

fn tuples(context: &mut Context<'_>, data: ValueId, indices: ValueId) -> Result<Vec<ValueId>, Reason> {
    let stated = context.attributes.int_or("batch_dims", 0)?;
    let batch_dims = usize::try_from(stated).map_err(|_| unsupported("batch_dims", stated, "0 or more"))?;
    if let (0, Some(known)) = (batch_dims, boxes::known(context, indices)?) {
        let (sizes, shape) = (context.shape(data).to_vec(), context.shape(indices).to_vec());
        let width = shape.last().copied().unwrap_or(0); // Default: no axis is refused below.
        let places = boxes::tuples(&sizes, width, &known);
        if let (Some(ranges), Some((_, outer))) =
            (places.and_then(|places| boxes::of(&places)), shape.split_last())
        {
            let part = context.emit(Slice { ranges }, vec![data])?;
            return Ok(vec![context.reshape(part, [outer, &sizes[width..]].concat())?]);
        }
    }
    Ok(vec![context.emit(GatherNd { batch_dims }, vec![data, indices])?])
}
