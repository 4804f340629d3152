//! Operators that the graph also has, with NumPy broadcasting: one arm for each, with the names of
//! its operands.

use npukit_graph::ValueId;
use npukit_graph::op::{
    Binary, BinaryKind, Clip, LeakyRelu, Logic, LogicKind, Op, Pow, Relu, Unary, UnaryKind,
};

use super::super::context::Context;
use super::super::error::Reason;
use crate::function;

/// Limit and slope of Selu (Klambauer et al., 2017), as TensorFlow rounds them.
const SELU: UnaryKind = UnaryKind::Selu { alpha: 1.673_263_2, gamma: 1.050_701 };

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let binary = |kind| Op::from(Binary { kind });
    let unary = |kind| Op::from(Unary { kind });
    let (op, operands): (Op, &[&str]) = match context.op() {
        "Add" | "AddV2" => (binary(BinaryKind::Add), &["x", "y"]),
        "Div" | "RealDiv" | "TruncateDiv" => (binary(BinaryKind::Div), &["x", "y"]),
        "Elu" => (unary(UnaryKind::Elu { alpha: 1.0 }), &["x"]),
        "FloorMod" => (binary(BinaryKind::Mod), &["x", "y"]),
        "Inv" => (unary(UnaryKind::Reciprocal), &["x"]),
        "LeakyRelu" => (LeakyRelu { alpha: context.attributes.float("alpha", 0.2)? }.into(), &["features"]),
        "LogicalAnd" => (Logic { kind: LogicKind::And }.into(), &["x", "y"]),
        "LogicalNot" => (unary(UnaryKind::Not), &["x"]),
        "LogicalOr" => (Logic { kind: LogicKind::Or }.into(), &["x", "y"]),
        "Maximum" => (binary(BinaryKind::Max), &["x", "y"]),
        "Minimum" => (binary(BinaryKind::Min), &["x", "y"]),
        "Mod" | "TruncateMod" => (binary(BinaryKind::Fmod), &["x", "y"]),
        "Mul" => (binary(BinaryKind::Mul), &["x", "y"]),
        "Pow" => (Pow.into(), &["x", "y"]),
        "Relu" => (Relu.into(), &["features"]),
        "Relu6" => (Clip { min: 0.0, max: 6.0 }.into(), &["features"]),
        "Rint" => (unary(UnaryKind::Round), &["x"]),
        "Selu" => (unary(SELU), &["x"]),
        "Sub" => (binary(BinaryKind::Sub), &["x", "y"]),
        other => {
            let unknown = || Reason::Operator { operator: other.to_owned() };
            (unary(function::of(other).ok_or_else(unknown)?), &["x"])
        }
    };
    context.direct(op, operands)
}
