//! ONNX Runtime's Gelu and its variants: exact, by tanh, by a sigmoid, and with a bias before it.

use npukit_graph::ValueId;
use npukit_graph::op::{Binary, BinaryKind, GeluForm, Unary, UnaryKind};

use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "X")?;
    let kind = match context.op_type() {
        "Gelu" | "BiasGelu" => UnaryKind::Gelu { form: GeluForm::Exact },
        "FastGelu" => UnaryKind::Gelu { form: GeluForm::Tanh },
        "QuickGelu" => UnaryKind::Swish { alpha: context.attributes.float_or("alpha", 1.702)? },
        other => return Err(Reason::Operator { operator: other.to_owned() }),
    };
    let x = match context.optional(1) {
        Some(bias) => context.helper("biased", Binary { kind: BinaryKind::Add }, vec![x, bias])?,
        None => x,
    };
    Ok(vec![context.emit(Unary { kind }, vec![x])?])
}
