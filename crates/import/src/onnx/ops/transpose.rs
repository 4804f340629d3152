//! Transpose; without a permutation, the order of the axes is reversed.

use npukit_graph::ValueId;
use npukit_graph::op::Transpose;

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "data")?;
    let rank = context.shape(x).len();
    let perm = match context.attributes.ints("perm")? {
        None => (0..rank).rev().collect(),
        Some(axes) if axes.len() != rank => {
            return Err(unsupported("perm", axes.len(), format!("the {rank} axes of the operand")));
        }
        Some(axes) => {
            axes.iter().map(|&axis| Context::axis("perm", axis, rank)).collect::<Result<Vec<_>, _>>()?
        }
    };
    Ok(vec![context.emit(Transpose { perm }, vec![x])?])
}
