//! Placeholder: an input of the graph. PlaceholderWithDefault: its default, unless the caller gives
//! its shape, which makes it an input. A placeholder that the caller sets to a number is a
//! constant.

use npukit_graph::{ValueId, ValueInfo};

use super::super::context::Context;
use super::super::error::Reason;
use super::super::tensor::{element_type, sizes};
use crate::given;
use crate::shape::check_shape;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let default = context.optional(0);
    let code = context.attributes.element_type("dtype")?;
    let stated = context.attributes.shape("shape")?;
    if let Some(default) = default.filter(|_| context.shape.is_none() && context.value.is_none()) {
        return Ok(vec![default]);
    }
    let element = match default {
        Some(default) => context.element(default),
        None => element_type(code.ok_or(Reason::AttributeMissing { name: "dtype" })?)?,
    };
    let shape = match (context.shape, default) {
        (Some(shape), _) => shape.to_vec(),
        (None, Some(default)) => context.shape(default).to_vec(),
        (None, None) => sizes(stated.ok_or(Reason::NoShape)?)?,
    };
    check_shape(&shape)?;
    let info = ValueInfo { shape, element };
    let Some(text) = context.value else { return Ok(vec![context.add_input(info)]) };
    context.reserve(&info.shape)?;
    Ok(vec![context.make_constant(given::constant(&info, text)?)])
}
