//! Dropout in inference: the operand itself.

use npukit_graph::ValueId;
use npukit_numeric::TensorData;

use super::super::context::Context;
use super::super::context::described;
use super::super::error::Reason;

/// Translates one node.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "data")?;
    context.attributes.without_effect("ratio");
    context.attributes.without_effect("seed");
    context.optional(1); // ratio: without effect in inference
    if let Some(training) = context.optional(2) {
        let training = context.constant(training, "training_mode")?;
        if !matches!(training.data(), TensorData::Bool(values) if values.as_slice() == [false]) {
            let (found, legal) = (described(&training), "false".to_owned());
            return Err(Reason::OperandValue { operand: "training_mode", found, legal });
        }
    }
    Ok(vec![x])
}
