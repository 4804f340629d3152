//! Elementwise functions that are composed of two or three of the graph's functions.

use npukit_graph::ValueId;
use npukit_graph::op::{Binary, BinaryKind, Unary, UnaryKind};

use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "x")?;
    let result = match context.op() {
        "Square" => context.emit(Binary { kind: BinaryKind::Mul }, vec![x, x])?,
        "Rsqrt" => {
            let root = context.unary("sqrt", UnaryKind::Sqrt, x)?;
            context.emit(Unary { kind: UnaryKind::Reciprocal }, vec![root])?
        }
        "Log1p" => {
            let one = context.scalar(1.0)?;
            let sum = context.binary("sum", BinaryKind::Add, x, one)?;
            context.emit(Unary { kind: UnaryKind::Log }, vec![sum])?
        }
        "Erfc" => {
            let (one, erf) = (context.scalar(1.0)?, context.unary("erf", UnaryKind::Erf, x)?);
            context.emit(Binary { kind: BinaryKind::Sub }, vec![one, erf])?
        }
        other => return Err(Reason::Operator { operator: other.to_owned() }),
    };
    Ok(vec![result])
}
