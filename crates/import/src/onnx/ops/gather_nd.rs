//! GatherND.

use npukit_graph::ValueId;
use npukit_graph::op::GatherNd;

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;

/// Translates one node.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (data, indices) = (context.input(0, "data")?, context.input(1, "indices")?);
    let stated = context.attributes.int_or("batch_dims", 0)?;
    let batch_dims = usize::try_from(stated).map_err(|_| unsupported("batch_dims", stated, "0 or more"))?;
    Ok(vec![context.emit(GatherNd { batch_dims }, vec![data, indices])?])
}
