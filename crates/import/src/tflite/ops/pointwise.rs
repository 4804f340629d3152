//! Elementwise functions without an equivalent in TensorFlow.

use npukit_graph::ValueId;
use npukit_graph::op::{Clip, GeluForm, Op, PRelu, Unary, UnaryKind};

use super::super::context::Context;
use crate::error::Reason;

/// Translates one operator of the file and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let op: Op = match context.op {
        "PRELU" => return context.direct(PRelu, &["input", "alpha"]),
        "RELU_N1_TO_1" => Clip { min: -1.0, max: 1.0 }.into(),
        "RELU_0_TO_1" => Clip { min: 0.0, max: 1.0 }.into(),
        "GELU" => {
            let form = if context.flag(0)? { GeluForm::Tanh } else { GeluForm::Exact };
            Unary { kind: UnaryKind::Gelu { form } }.into()
        }
        _ => Unary { kind: UnaryKind::HardSwish }.into(),
    };
    context.direct(op, &["input"])
}
