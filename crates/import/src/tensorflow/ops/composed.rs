//! Elementwise functions that are composed of two or three of the graph's functions.

use npukit_graph::ValueId;
use npukit_graph::op::{
    Binary, BinaryKind, Compare, CompareKind, Logic, LogicKind, Op, Unary, UnaryKind, Where,
};

use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (op, operands) = match context.op() {
        "ClipByValue" => {
            let (x, min) = (context.input(0, "t")?, context.input(1, "clip_value_min")?);
            let max = context.input(2, "clip_value_max")?;
            (binary(BinaryKind::Max), vec![context.binary("below", BinaryKind::Min, x, max)?, min])
        }
        "DivNoNan" | "FloorDiv" | "MulNoNan" | "SquaredDifference" => of_two(context)?,
        _ => of_one(context)?,
    };
    Ok(vec![context.emit(op, operands)?])
}

fn binary(kind: BinaryKind) -> Op {
    Binary { kind }.into()
}

fn unary(kind: UnaryKind) -> Op {
    Unary { kind }.into()
}

/// Returns the last operator of a function of one operand, with its operands.
fn of_one(context: &mut Context<'_>) -> Result<(Op, Vec<ValueId>), Reason> {
    let x = context.input(0, "x")?;
    Ok(match context.op() {
        "Erfc" => {
            let (one, erf) = (context.scalar(1.0)?, context.unary("erf", UnaryKind::Erf, x)?);
            (binary(BinaryKind::Sub), vec![one, erf])
        }
        "IsFinite" => {
            let tests = ["IsNaN", "IsInf"].map(|test| context.standard(test, &[], &[x]));
            let tests = tests.into_iter().collect::<Result<Vec<_>, _>>()?;
            (unary(UnaryKind::Not), vec![context.helper("either", Logic { kind: LogicKind::Or }, tests)?])
        }
        "Log1p" => {
            let one = context.scalar(1.0)?;
            (unary(UnaryKind::Log), vec![context.binary("sum", BinaryKind::Add, x, one)?])
        }
        "Rsqrt" => (unary(UnaryKind::Reciprocal), vec![context.unary("sqrt", UnaryKind::Sqrt, x)?]),
        "Square" => (binary(BinaryKind::Mul), vec![x, x]),
        other => return Err(Reason::Operator { operator: other.to_owned() }),
    })
}

/// Returns the last operator of a function of two operands, with its operands.
fn of_two(context: &mut Context<'_>) -> Result<(Op, Vec<ValueId>), Reason> {
    let (x, y) = (context.input(0, "x")?, context.input(1, "y")?);
    Ok(match context.op() {
        "SquaredDifference" => {
            let difference = context.binary("difference", BinaryKind::Sub, x, y)?;
            (binary(BinaryKind::Mul), vec![difference, difference])
        }
        "FloorDiv" if context.element(x).is_float() => {
            (unary(UnaryKind::Floor), vec![context.binary("quotient", BinaryKind::Div, x, y)?])
        }
        // The remainder has the divisor's sign; without it, the division is exact.
        "FloorDiv" => {
            let remainder = context.binary("remainder", BinaryKind::Mod, x, y)?;
            (binary(BinaryKind::Div), vec![context.binary("even", BinaryKind::Sub, x, remainder)?, y])
        }
        // The result is 0 if the second operand is 0.
        operator => {
            let kind = if operator == "DivNoNan" { BinaryKind::Div } else { BinaryKind::Mul };
            let (result, zero) = (context.binary("result", kind, x, y)?, context.scalar(0.0)?);
            let is_zero = context.helper("is_zero", Compare { kind: CompareKind::Equal }, vec![y, zero])?;
            (Where.into(), vec![is_zero, zero, result])
        }
    })
}
