//! Placeholder: an input of the graph; PlaceholderWithDefault: its default, unless the caller
//! gives it a shape, which makes it an input.

use npukit_graph::{ValueId, ValueInfo};

use super::super::context::Context;
use super::super::error::Reason;
use super::super::tensor::{element_type, sizes};
use crate::shape::check_shape;

/// Translates one node.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let default = context.optional(0);
    let code = context.attributes.element_type("dtype")?;
    let stated = context.attributes.shape("shape")?;
    if let Some(default) = default.filter(|_| context.shape.is_none()) {
        return Ok(vec![default]);
    }
    let element = match default {
        Some(default) => context.element(default),
        None => element_type(code.ok_or(Reason::AttributeMissing { name: "dtype" })?)?,
    };
    let shape = match context.shape {
        Some(shape) => shape.to_vec(),
        None => sizes(stated.ok_or(Reason::NoShape)?)?,
    };
    check_shape(&shape)?;
    Ok(vec![context.add_input(ValueInfo { shape, element })])
}
