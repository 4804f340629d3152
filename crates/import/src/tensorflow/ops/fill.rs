//! Fill, ZerosLike and OnesLike: one value repeated.

use npukit_graph::ValueId;
use npukit_numeric::{ElementType, Tensor, TensorData};

use super::super::context::{Context, described};
use super::super::error::Reason;
use crate::shape::{shape, tensor};

/// Translates one node.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (shape, value) = match context.op() {
        "Fill" => {
            context.attributes.without_effect("index_type");
            let dims = context.required_integers(0, "dims")?;
            let value = context.input(1, "value")?;
            (shape(&dims)?, context.constant(value, "value")?.as_ref().clone())
        }
        name => {
            let x = context.input(0, "x")?;
            let value = f32::from(u8::from(name == "OnesLike"));
            (context.shape(x).to_vec(), number(context.element(x), value)?)
        }
    };
    context.reserve(&shape)?;
    let filled = tensor(shape.clone(), repeated(&value, shape.iter().product())?)?;
    Ok(vec![context.make_constant(filled)])
}

/// `value`, a 0 or 1, as an element of the type.
fn number(element: ElementType, value: f32) -> Result<Tensor, Reason> {
    let data = match element {
        ElementType::F32 => TensorData::F32(vec![value]),
        ElementType::I64 => TensorData::I64(vec![value as i64]),
        ElementType::I32 => TensorData::I32(vec![value as i32]),
        ElementType::Bool => TensorData::Bool(vec![value != 0.0]),
    };
    tensor(Vec::new(), data)
}

/// The only element of `value`, `count` times.
fn repeated(value: &Tensor, count: usize) -> Result<TensorData, Reason> {
    match value.data() {
        TensorData::F32(values) if values.len() == 1 => Ok(TensorData::F32(values.repeat(count))),
        TensorData::I64(values) if values.len() == 1 => Ok(TensorData::I64(values.repeat(count))),
        TensorData::I32(values) if values.len() == 1 => Ok(TensorData::I32(values.repeat(count))),
        TensorData::Bool(values) if values.len() == 1 => Ok(TensorData::Bool(values.repeat(count))),
        _ => {
            let (found, legal) = (described(value), "one element".to_owned());
            Err(Reason::OperandValue { operand: "value", found, legal })
        }
    }
}
