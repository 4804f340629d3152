//! Softmax and LogSoftmax over the last axis.

use npukit_graph::ValueId;
use npukit_graph::op::{LogSoftmax, Op, Softmax};

use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "logits")?;
    let axis_end = context.shape(x).len();
    let Some(axis) = axis_end.checked_sub(1) else {
        let (found, legal) = ("a scalar".to_owned(), "at least one axis".to_owned());
        return Err(Reason::OperandValue { operand: "logits", found, legal });
    };
    let op: Op = match context.op() {
        "LogSoftmax" => LogSoftmax { axis, axis_end }.into(),
        _ => Softmax { axis, axis_end }.into(),
    };
    Ok(vec![context.emit(op, vec![x])?])
}
