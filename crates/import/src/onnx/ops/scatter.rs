//! ScatterElements, called Scatter before opset 11, and ScatterND.

use npukit_graph::ValueId;
use npukit_graph::op::{ScatterElements, ScatterKind, ScatterNd};

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;

/// Translates one node.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let data = context.input(0, "data")?;
    let operands = vec![data, context.input(1, "indices")?, context.input(2, "updates")?];
    let kind = match context.attributes.string("reduction")?.as_deref() {
        None | Some("none") => ScatterKind::Replace,
        Some("add") => ScatterKind::Add,
        Some("mul") => ScatterKind::Mul,
        Some("max") => ScatterKind::Max,
        Some("min") => ScatterKind::Min,
        Some(other) => return Err(unsupported("reduction", other, "none, add, mul, max or min")),
    };
    if context.op_type() == "ScatterND" {
        return Ok(vec![context.emit(ScatterNd { kind }, operands)?]);
    }
    let rank = context.shape(data).len();
    let axis = Context::axis("axis", context.attributes.int_or("axis", 0)?, rank)?;
    Ok(vec![context.emit(ScatterElements { axis, kind }, operands)?])
}
