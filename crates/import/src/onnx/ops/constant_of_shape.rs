//! ConstantOfShape: one value repeated; float zero when not given.

use npukit_graph::{OpError, ValueId};
use npukit_numeric::TensorData;

use super::super::context::Context;
use super::super::context::described;
use super::super::error::Reason;
use super::super::tensor;

/// Translates one node.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let missing = Reason::OperandMissing { operand: "input" };
    let shape = tensor::shape(&context.integers(0, "input")?.ok_or(missing)?)?;
    let value = match context.attributes.tensor("value")? {
        Some(proto) => tensor::read(proto)?,
        None => tensor::tensor(vec![1], TensorData::F32(vec![0.0]))?,
    };
    context.reserve(&shape)?;
    let count = shape.iter().product();
    let data = match value.data() {
        TensorData::F32(values) if values.len() == 1 => TensorData::F32(values.repeat(count)),
        TensorData::I64(values) if values.len() == 1 => TensorData::I64(values.repeat(count)),
        TensorData::I32(values) if values.len() == 1 => TensorData::I32(values.repeat(count)),
        TensorData::Bool(values) if values.len() == 1 => TensorData::Bool(values.repeat(count)),
        _ => {
            let (found, legal) = (described(&value), "a tensor of one element".to_owned());
            return Err(Reason::AttributeValue { name: "value", found, legal });
        }
    };
    let refused = |error| Reason::Shape(OpError::Element { op: "ConstantOfShape", error });
    let filled = tensor::tensor(shape, data)?.with_element(value.element()).map_err(refused)?;
    Ok(vec![context.make_constant(filled)])
}
