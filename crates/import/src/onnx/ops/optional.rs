//! Identity and OptionalGetElement: the operand under another name. OptionalHasElement of a tensor
//! is known when the file is read.

use npukit_graph::ValueId;
use npukit_numeric::TensorData;

use super::super::context::Context;
use super::super::error::Reason;
use super::super::tensor::tensor;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    if context.op_type() != "OptionalHasElement" {
        return Ok(vec![context.input(0, "input")?]);
    }
    let is_there = context.optional(0).is_some();
    let is_there = tensor(Vec::new(), TensorData::Bool(vec![is_there]))?;
    Ok(vec![context.make_constant(is_there)])
}
