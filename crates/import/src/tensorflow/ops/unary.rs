//! Functions of one element that the graph has as they are.

use npukit_graph::ValueId;
use npukit_graph::op::{Unary, UnaryKind};

use super::super::context::Context;
use super::super::error::Reason;

/// The limit and the slope of Selu (Klambauer and others, 2017), as TensorFlow rounds them.
const SELU: UnaryKind = UnaryKind::Selu { alpha: 1.673_263_2, gamma: 1.050_701 };

/// Translates one node.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let kind = match context.op() {
        "Abs" => UnaryKind::Abs,
        "Acos" => UnaryKind::Acos,
        "Acosh" => UnaryKind::Acosh,
        "Asin" => UnaryKind::Asin,
        "Asinh" => UnaryKind::Asinh,
        "Atan" => UnaryKind::Atan,
        "Atanh" => UnaryKind::Atanh,
        "Ceil" => UnaryKind::Ceil,
        "Cos" => UnaryKind::Cos,
        "Cosh" => UnaryKind::Cosh,
        "Elu" => UnaryKind::Elu { alpha: 1.0 },
        "Erf" => UnaryKind::Erf,
        "Exp" => UnaryKind::Exp,
        "Floor" => UnaryKind::Floor,
        "Inv" | "Reciprocal" => UnaryKind::Reciprocal,
        "Log" => UnaryKind::Log,
        "LogicalNot" => UnaryKind::Not,
        "Neg" => UnaryKind::Neg,
        "Rint" | "Round" => UnaryKind::Round,
        "Selu" => SELU,
        "Sigmoid" => UnaryKind::Sigmoid,
        "Sign" => UnaryKind::Sign,
        "Sin" => UnaryKind::Sin,
        "Sinh" => UnaryKind::Sinh,
        "Softplus" => UnaryKind::Softplus,
        "Softsign" => UnaryKind::Softsign,
        "Sqrt" => UnaryKind::Sqrt,
        "Tan" => UnaryKind::Tan,
        "Tanh" => UnaryKind::Tanh,
        other => return Err(Reason::Operator { operator: other.to_owned() }),
    };
    let x = context.input(0, "x")?;
    Ok(vec![context.emit(Unary { kind }, vec![x])?])
}
