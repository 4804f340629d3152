//! ArgMax and ArgMin: index of the first largest or smallest element.

use npukit_graph::ValueId;
use npukit_graph::op::{ArgMax, Cast};
use npukit_numeric::ElementType;

use super::super::context::Context;
use super::super::error::Reason;
use super::super::tensor::element_type;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "input")?;
    let axis = context.axis_operand(1, "dimension", context.shape(x).len())?;
    let to = match context.attributes.element_type("output_type")? {
        Some(code) => element_type(code)?,
        None => ElementType::I64,
    };
    let op = ArgMax { smallest: context.op() == "ArgMin", axis, keep_dims: false, select_last: false };
    if to == ElementType::I64 {
        return Ok(vec![context.emit(op, vec![x])?]);
    }
    let positions = context.helper("positions", op, vec![x])?;
    Ok(vec![context.emit(Cast::new(to), vec![positions])?])
}
