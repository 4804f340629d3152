//! Cast.

use npukit_graph::ValueId;
use npukit_graph::op::Cast;

use super::super::context::Context;
use super::super::error::Reason;
use super::super::tensor::element_type;

/// Translates one node.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "input")?;
    let to = context.attributes.int("to")?.ok_or(Reason::AttributeMissing { name: "to" })?;
    // Both speak of 8-bit floats only.
    context.attributes.without_effect("saturate");
    context.attributes.without_effect("round_mode");
    let to = element_type(i32::try_from(to).unwrap_or(i32::MAX))?;
    Ok(vec![context.emit(Cast::new(to), vec![x])?])
}
