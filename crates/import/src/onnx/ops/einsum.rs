//! Einsum: sums, transpositions and one matrix product for each operand after the first.

use npukit_graph::ValueId;

use super::super::context::Context;
use super::super::error::Reason;
use crate::einsum::einsum;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let equation = context.attributes.string("equation")?;
    let equation = equation.ok_or(Reason::AttributeMissing { name: "equation" })?;
    Ok(vec![einsum(context, &equation)?])
}
