//! Relu, and Relu6, which is a Clip.

use npukit_graph::ValueId;
use npukit_graph::op::{Clip, Op, Relu};

use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let op: Op = if context.op() == "Relu6" { Clip { min: 0.0, max: 6.0 }.into() } else { Relu.into() };
    let x = context.input(0, "features")?;
    Ok(vec![context.emit(op, vec![x])?])
}
