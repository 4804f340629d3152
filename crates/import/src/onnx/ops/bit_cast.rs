//! BitCast: reinterprets the bits of the elements as another type.

use npukit_graph::ValueId;
use npukit_graph::op::BitCast;

use super::super::context::Context;
use super::super::error::Reason;
use super::super::tensor::element_type;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "input")?;
    let code = context.attributes.int("to")?.ok_or(Reason::AttributeMissing { name: "to" })?;
    let to = element_type(i32::try_from(code).unwrap_or(i32::MAX))?;
    Ok(vec![context.emit(BitCast { to }, vec![x])?])
}
