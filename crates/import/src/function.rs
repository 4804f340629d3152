//! Elementwise functions by name: [`of`].

use npukit_graph::op::UnaryKind;

/// Returns the function that ONNX and TensorFlow call `name`. It has no parameters, or default
/// ones.
pub(crate) fn of(name: &str) -> Option<UnaryKind> {
    Some(match name {
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
        "Erf" => UnaryKind::Erf,
        "Exp" => UnaryKind::Exp,
        "Floor" => UnaryKind::Floor,
        "HardSwish" => UnaryKind::HardSwish,
        "Log" => UnaryKind::Log,
        "Mish" => UnaryKind::Mish,
        "Neg" => UnaryKind::Neg,
        "Not" => UnaryKind::Not,
        "Reciprocal" => UnaryKind::Reciprocal,
        "Round" => UnaryKind::Round,
        "Sigmoid" => UnaryKind::Sigmoid,
        "Sign" => UnaryKind::Sign,
        "Sin" => UnaryKind::Sin,
        "Sinh" => UnaryKind::Sinh,
        "Softplus" => UnaryKind::Softplus,
        "Softsign" => UnaryKind::Softsign,
        "Sqrt" => UnaryKind::Sqrt,
        "Tan" => UnaryKind::Tan,
        "Tanh" => UnaryKind::Tanh,
        _ => return None,
    })
}
