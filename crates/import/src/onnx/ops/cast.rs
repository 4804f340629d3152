//! Cast, to a type by its code, and CastLike, to the type of another value.

use npukit_graph::ValueId;
use npukit_graph::op::Cast;
use npukit_numeric::Rounding;

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;
use super::super::tensor::element_type;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "input")?;
    let to = if context.op_type() == "CastLike" {
        let like = context.input(1, "target_type")?;
        context.element(like)
    } else {
        let code = context.attributes.int("to")?.ok_or(Reason::AttributeMissing { name: "to" })?;
        element_type(i32::try_from(code).unwrap_or(i32::MAX))?
    };
    let saturate = context.attributes.flag("saturate", true)?;
    let rounding = match context.attributes.string("round_mode")?.as_deref() {
        None | Some("up") => Rounding::Up,
        Some("down") => Rounding::Down,
        Some("nearest") => Rounding::Nearest,
        Some(other) => return Err(unsupported("round_mode", other, "up, down or nearest")),
    };
    Ok(vec![context.emit(Cast { to, saturate, rounding }, vec![x])?])
}
