//! Const: a constant tensor.

use npukit_graph::ValueId;

use super::super::context::Context;
use super::super::error::Reason;
use super::super::tensor::read;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let proto = context.attributes.tensor("value")?.ok_or(Reason::AttributeMissing { name: "value" })?;
    let tensor = read(proto, |shape| context.reserve(shape))?;
    Ok(vec![context.make_constant(tensor)])
}
