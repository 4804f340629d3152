//! Where with one operand, Unique and UniqueV2. The shape of their results depends on the values of
//! the operand, which must be constant.

use npukit_graph::ValueId;
use npukit_graph::op::Transpose;
use npukit_numeric::ElementType;

use super::super::context::Context;
use super::super::error::Reason;
use super::super::tensor::element_type;
use crate::node::{NodeBuilder, unsupported};
use crate::onnx::Given;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "input")?;
    if context.op() == "Where" {
        let places = context.standard("NonZero", &[], &[x])?;
        return Ok(vec![context.helper("rows", Transpose { perm: vec![1, 0] }, vec![places])?]);
    }
    let rank = context.shape(x).len();
    let mut attributes = vec![("sorted", Given::Int(0))];
    if context.op() == "UniqueV2" {
        match context.required_integers(1, "axis")?[..] {
            [] => {}
            [axis] => attributes.push(("axis", Given::Int(NodeBuilder::axis("axis", axis, rank)? as i64))),
            ref other => return Err(unsupported("axis", other, "one axis, or empty")),
        }
    }
    let to = match context.attributes.element_type("out_idx")? {
        Some(code) => element_type(code)?,
        None => ElementType::I32,
    };
    let results = context.standards("Unique", 4, &attributes, &[x])?;
    let [values, _, inverse, _] = results[..] else { return Ok(results) };
    let inverse = context.cast(inverse, to)?;
    Ok(vec![values, inverse])
}
