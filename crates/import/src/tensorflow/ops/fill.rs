//! Fill, ZerosLike and OnesLike: one repeated value.

use npukit_graph::ValueId;
use npukit_numeric::{ElementType, Storage, Tensor, TensorData};

use super::super::context::{Context, described};
use super::super::error::Reason;
use crate::elements::{repeated, typed};
use crate::shape::shape;

/// Adds the operators of one node to the graph and returns its results.
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
            (context.shape(x).to_vec(), number(context.element(x), name == "OnesLike")?)
        }
    };
    context.reserve(&shape)?;
    let Some(filled) = repeated(&value, shape)? else {
        let (found, legal) = (described(&value), "one element".to_owned());
        return Err(Reason::OperandValue { operand: "value", found, legal });
    };
    Ok(vec![context.make_constant(filled)])
}

/// Returns `value`, a 0 or 1, as an element of the type.
fn number(element: ElementType, value: bool) -> Result<Tensor, Reason> {
    let data = match element.storage() {
        Storage::F32 => TensorData::F32(vec![f32::from(u8::from(value))]),
        Storage::I64 => TensorData::I64(vec![value.into()]),
        Storage::I32 => TensorData::I32(vec![value.into()]),
        Storage::Bool => TensorData::Bool(vec![value]),
    };
    typed(element, Vec::new(), data)
}
