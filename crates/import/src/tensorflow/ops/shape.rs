//! Shape, ShapeN, Size and Rank: constants, as all shapes are known.

use npukit_graph::ValueId;
use npukit_numeric::{ElementType, Tensor, TensorData};

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;
use super::super::tensor::element_type;
use crate::shape::tensor;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    context.attributes.without_effect("N"); // equals the number of operands
    let element = match context.attributes.element_type("out_type")? {
        Some(code) => element_type(code)?,
        None => ElementType::I32,
    };
    let operands = context.inputs("input")?;
    let mut results = Vec::with_capacity(operands.len());
    for x in operands {
        let shape: Vec<i64> = context.shape(x).iter().map(|&size| size as i64).collect();
        let tensor = match context.op() {
            "Size" => integers(vec![], vec![shape.iter().product()], element)?,
            "Rank" => integers(vec![], vec![shape.len() as i64], element)?,
            _ => integers(vec![shape.len()], shape, element)?,
        };
        results.push(context.make_constant(tensor));
    }
    Ok(results)
}

/// Makes a tensor of integers of the given type, which must represent every size.
fn integers(shape: Vec<usize>, values: Vec<i64>, element: ElementType) -> Result<Tensor, Reason> {
    match element {
        ElementType::I64 => tensor(shape, TensorData::I64(values)),
        ElementType::I32 => {
            tensor(shape, TensorData::I32(values.into_iter().map(|value| value as i32).collect()))
        }
        other => Err(unsupported("out_type", other, "int32 or int64")),
    }
}
