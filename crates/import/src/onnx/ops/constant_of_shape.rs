//! ConstantOfShape: one repeated value, 0.0 by default. A constant that is too large for the
//! folding budget stays an Expand, which the evaluator or the compiler computes when needed.

use npukit_graph::ValueId;
use npukit_graph::op::Tile;
use npukit_numeric::TensorData;

use super::super::context::Context;
use super::super::context::described;
use super::super::error::Reason;
use super::super::tensor;
use crate::elements::repeated;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let missing = Reason::OperandMissing { operand: "input" };
    let shape = tensor::shape(&context.integers(0, "input")?.ok_or(missing)?)?;
    let value = match context.attributes.tensor("value")? {
        Some(proto) => tensor::read(proto, context.external)?,
        None => tensor::tensor(vec![1], TensorData::F32(vec![0.0]))?,
    };
    let at_once = context.reserve(&shape).is_ok();
    let made = if at_once { shape.clone() } else { vec![1; shape.len()] };
    let Some(filled) = repeated(&value, made)? else {
        let (found, legal) = (described(&value), "a tensor of one element".to_owned());
        return Err(Reason::AttributeValue { name: "value", found, legal });
    };
    let filled = context.make_constant(filled);
    if at_once { Ok(vec![filled]) } else { Ok(vec![context.emit(Tile { repeats: shape }, vec![filled])?]) }
}
