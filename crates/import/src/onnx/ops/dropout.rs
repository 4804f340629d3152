//! Dropout in inference: the operand itself, and a mask that keeps all elements.

use npukit_graph::ValueId;
use npukit_numeric::{ElementType, TensorData};

use super::super::context::{Context, described};
use super::super::error::Reason;
use crate::elements::typed;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "data")?;
    context.attributes.without_effect("ratio");
    context.attributes.without_effect("seed");
    let ratio = context.optional(1);
    if let Some(training) = context.optional(2) {
        let training = context.constant(training, "training_mode")?;
        let off = matches!(training.data(), TensorData::Bool(values) if values.as_slice() == [false]);
        if !off && !is_zero(context, ratio) {
            let (found, legal) = (described(&training), "false, unless the ratio is 0".to_owned());
            return Err(Reason::OperandValue { operand: "training_mode", found, legal });
        }
    }
    if context.outputs() == 1 {
        return Ok(vec![x]);
    }
    let shape = context.shape(x).to_vec();
    context.reserve(&shape)?;
    let count = shape.iter().product();
    // Truth values since opset 10, numbers of the operand's type before.
    let mask = match context.opset {
        ..10 => typed(context.element(x), shape, TensorData::F32(vec![1.0; count]))?,
        _ => typed(ElementType::Bool, shape, TensorData::Bool(vec![true; count]))?,
    };
    Ok(vec![x, context.make_constant(mask)])
}

fn is_zero(context: &Context<'_>, ratio: Option<ValueId>) -> bool {
    let ratio = ratio.and_then(|ratio| context.constant(ratio, "ratio").ok());
    ratio.is_some_and(|ratio| ratio.as_f32() == Some(&[0.0]))
}
