//! QLinearAdd, QLinearMul, QLinearLeakyRelu and QLinearSigmoid of ONNX Runtime.

use npukit_graph::ValueId;
use npukit_graph::op::{Binary, BinaryKind, LeakyRelu, Unary, UnaryKind};

use super::super::context::Context;
use super::super::error::Reason;
use super::super::quantized::{operand, places, quantized};

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let a = operand(context, places(0, ["A", "A_scale", "A_zero_point"]), 0)?;
    let (y, scale) = match context.op_type() {
        "QLinearLeakyRelu" => {
            let alpha = context.attributes.float_or("alpha", 0.01)?;
            (context.emit(LeakyRelu { alpha }, vec![a])?, 3)
        }
        "QLinearSigmoid" => (context.emit(Unary { kind: UnaryKind::Sigmoid }, vec![a])?, 3),
        op_type => {
            let kind = if op_type == "QLinearMul" { BinaryKind::Mul } else { BinaryKind::Add };
            let b = operand(context, places(3, ["B", "B_scale", "B_zero_point"]), 0)?;
            (context.emit(Binary { kind }, vec![a, b])?, 6)
        }
    };
    Ok(vec![quantized(context, y, scale)?])
}
