//! Operators that the graph also has, with NumPy broadcasting: one arm for each, with the names of
//! its operands.

use npukit_graph::ValueId;
use npukit_graph::op::{
    ArgMax, Binary, BinaryKind, BitCast, Compare, CompareKind, Det, IsNaN, LeakyRelu, LogSoftmax, Logic,
    LogicKind, LpNormalization, MatMul, Norm, Op, PRelu, Pow, Relu, RmsNormalization, Softmax, Where,
};

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;
use super::super::tensor::element_type;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let binary = |kind| Op::from(Binary { kind });
    let compare = |kind| Op::from(Compare { kind });
    let logic = |kind| Op::from(Logic { kind });
    let (op, operands): (Op, &[&str]) = match context.op_type() {
        "Add" => (binary(BinaryKind::Add), &["A", "B"]),
        "And" => (logic(LogicKind::And), &["A", "B"]),
        "Det" => (Det.into(), &["X"]),
        "Div" => (binary(BinaryKind::Div), &["A", "B"]),
        "Equal" => (compare(CompareKind::Equal), &["A", "B"]),
        "Greater" => (compare(CompareKind::Greater), &["A", "B"]),
        "GreaterOrEqual" => (compare(CompareKind::GreaterOrEqual), &["A", "B"]),
        "IsNaN" => (IsNaN.into(), &["X"]),
        "Less" => (compare(CompareKind::Less), &["A", "B"]),
        "LessOrEqual" => (compare(CompareKind::LessOrEqual), &["A", "B"]),
        "MatMul" => (MatMul.into(), &["A", "B"]),
        "Mul" => (binary(BinaryKind::Mul), &["A", "B"]),
        "Or" => (logic(LogicKind::Or), &["A", "B"]),
        "PRelu" => (PRelu.into(), &["X", "slope"]),
        "Pow" => (Pow.into(), &["X", "Y"]),
        "Relu" => (Relu.into(), &["X"]),
        "Sub" => (binary(BinaryKind::Sub), &["A", "B"]),
        "Where" => (Where.into(), &["condition", "X", "Y"]),
        "Xor" => (logic(LogicKind::Xor), &["A", "B"]),
        _ => with_attributes(context)?,
    };
    context.direct(op, operands)
}

/// Returns an operator with attributes, with the defaults of the standard, and its operands.
fn with_attributes(context: &mut Context<'_>) -> Result<(Op, &'static [&'static str]), Reason> {
    Ok(match context.op_type() {
        operator @ ("ArgMax" | "ArgMin") => {
            let axis = axis(context, "data", 0)?;
            let keep_dims = context.attributes.flag("keepdims", true)?;
            let select_last = context.attributes.flag("select_last_index", false)?;
            (ArgMax { smallest: operator == "ArgMin", axis, keep_dims, select_last }.into(), &["data"])
        }
        "BitCast" => {
            let code = context.attributes.int("to")?.ok_or(Reason::AttributeMissing { name: "to" })?;
            (BitCast { to: element_type(i32::try_from(code).unwrap_or(i32::MAX))? }.into(), &["input"])
        }
        "LeakyRelu" => (LeakyRelu { alpha: context.attributes.float_or("alpha", 0.01)? }.into(), &["X"]),
        "LpNormalization" => {
            let axis = axis(context, "input", -1)?;
            let norm = match context.attributes.int("p")? {
                Some(1) => Norm::L1,
                None | Some(2) => Norm::L2,
                Some(other) => return Err(unsupported("p", other, "1 or 2")),
            };
            (LpNormalization { axis, norm }.into(), &["input"])
        }
        "Mod" => {
            let kind =
                if context.attributes.flag("fmod", false)? { BinaryKind::Fmod } else { BinaryKind::Mod };
            (Binary { kind }.into(), &["A", "B"])
        }
        "RMSNormalization" | "SimplifiedLayerNormalization" => {
            let axis = axis(context, "X", -1)?;
            let epsilon = context.attributes.float_or("epsilon", 1e-5)?;
            context.attributes.without_effect("stash_type"); // we compute in 32-bit floats
            (RmsNormalization { axis, epsilon }.into(), &["X", "scale"])
        }
        operator @ ("LogSoftmax" | "Softmax") => {
            // Before opset 13, over all axes starting at `axis`.
            let is_old = context.opset < 13;
            let axis = axis(context, "input", if is_old { 1 } else { -1 })?;
            let x = context.input(0, "input")?;
            let axis_end = if is_old { context.shape(x).len() } else { axis + 1 };
            let op = match operator {
                "LogSoftmax" => LogSoftmax { axis, axis_end }.into(),
                _ => Softmax { axis, axis_end }.into(),
            };
            (op, &["input"])
        }
        other => return Err(Reason::Operator { operator: other.to_owned() }),
    })
}

/// Returns the axis of the first operand that the node states.
fn axis(context: &mut Context<'_>, operand: &'static str, default: i64) -> Result<usize, Reason> {
    let x = context.input(0, operand)?;
    let rank = context.shape(x).len();
    Context::axis("axis", context.attributes.int_or("axis", default)?, rank)
}
