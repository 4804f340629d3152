//! GatherElements; a Slice if the indices are constant and form a slice.

use npukit_graph::ValueId;
use npukit_graph::op::{GatherElements, Slice};

use super::super::boxes;
use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (data, indices) = (context.input(0, "data")?, context.input(1, "indices")?);
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
