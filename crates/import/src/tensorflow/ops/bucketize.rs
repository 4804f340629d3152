//! Bucketize: the number of sorted bounds that are at most the operand.

use npukit_graph::ValueId;
use npukit_graph::op::{CompareKind, Reduce, ReduceKind};
use npukit_numeric::{ElementType, TensorData};

use super::super::context::Context;
use super::super::error::Reason;
use crate::shape::tensor;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "input")?;
    let bounds = context.attributes.floats("boundaries")?;
    let bounds = bounds.ok_or(Reason::AttributeMissing { name: "boundaries" })?.to_vec();
    let shape = context.shape(x).to_vec();
    context.reserve(&[bounds.len()])?;
    let bounds = context.make_constant(tensor(vec![bounds.len()], TensorData::F32(bounds))?);
    let x = context.cast(x, ElementType::F32)?;
    let apart = context.reshaped("apart", x, [&shape[..], &[1]].concat())?;
    let above = context.compare(CompareKind::GreaterOrEqual, apart, bounds)?;
    let above = context.cast(above, ElementType::I32)?;
    let op = Reduce { kind: ReduceKind::Sum, axes: vec![shape.len()], keep_dims: false };
    Ok(vec![context.emit(op, vec![above])?])
}
