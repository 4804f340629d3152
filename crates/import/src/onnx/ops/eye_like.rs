//! EyeLike: ones on a diagonal. It is a constant, as all shapes are known.

use npukit_graph::ValueId;
use npukit_numeric::{Storage, TensorData};

use super::super::context::Context;
use super::super::error::Reason;
use super::super::tensor::element_type;
use crate::elements::typed;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "input")?;
    let &[rows, columns] = context.shape(x) else {
        let (found, legal) = (format!("{:?}", context.shape(x)), "two axes".to_owned());
        return Err(Reason::OperandValue { operand: "input", found, legal });
    };
    let element = match context.attributes.int("dtype")? {
        Some(code) => element_type(i32::try_from(code).unwrap_or(i32::MAX))?,
        None => context.element(x),
    };
    let offset = i128::from(context.attributes.int_or("k", 0)?);
    context.reserve(&[rows, columns])?;
    let is_one = |row: usize, column: usize| column as i128 - row as i128 == offset;
    let ones = || (0..rows).flat_map(move |row| (0..columns).map(move |column| is_one(row, column)));
    let data = match element.storage() {
        Storage::F32 => TensorData::F32(ones().map(|one| f32::from(u8::from(one))).collect()),
        Storage::I64 => TensorData::I64(ones().map(i64::from).collect()),
        Storage::I32 => TensorData::I32(ones().map(i32::from).collect()),
        Storage::Bool => TensorData::Bool(ones().collect()),
    };
    let eye = typed(element, vec![rows, columns], data)?;
    Ok(vec![context.make_constant(eye)])
}
