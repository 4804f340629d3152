//! Transpose: permutation of axes.

use npukit_graph::ValueId;
use npukit_graph::op::Transpose;

use super::super::context::Context;
use super::super::error::Reason;
use crate::node::NodeBuilder;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "x")?;
    let rank = context.shape(x).len();
    let stated = context.required_integers(1, "perm")?;
    let perm = stated.iter().map(|&axis| NodeBuilder::axis("perm", axis, rank));
    let perm = perm.collect::<Result<_, _>>()?;
    Ok(vec![context.emit(Transpose { perm }, vec![x])?])
}
