//! Constant: all dense numeric forms.

use npukit_graph::ValueId;
use npukit_numeric::TensorData;

use super::super::context::Context;
use super::super::error::Reason;
use super::super::tensor;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let value = if let Some(proto) = context.attributes.tensor("value")? {
        tensor::read(proto, context.external)?
    } else if let Some(value) = context.attributes.float("value_float")? {
        tensor::tensor(vec![], TensorData::F32(vec![value]))?
    } else if let Some(value) = context.attributes.int("value_int")? {
        tensor::tensor(vec![], TensorData::I64(vec![value]))?
    } else if let Some(values) = context.attributes.floats("value_floats")? {
        tensor::tensor(vec![values.len()], TensorData::F32(values.to_vec()))?
    } else if let Some(values) = context.attributes.ints("value_ints")? {
        tensor::tensor(vec![values.len()], TensorData::I64(values.to_vec()))?
    } else {
        return Err(match context.attributes.unread() {
            Some("sparse_value") => Reason::TensorKind { kind: "sparse" },
            Some("value_string" | "value_strings") => Reason::ElementType { name: "string".to_owned() },
            _ => Reason::AttributeMissing { name: "value" },
        });
    };
    Ok(vec![context.make_constant(value)])
}
