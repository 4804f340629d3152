//! BatchMatMul: matrix products over the last two axes; the others are broadcast.

use npukit_graph::ValueId;
use npukit_graph::op::MatMul;

use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (mut x, mut y) = (context.input(0, "x")?, context.input(1, "y")?);
    context.attributes.without_effect("grad_x"); // notes for training
    context.attributes.without_effect("grad_y");
    if context.attributes.flag("adj_x", false)? {
        x = transposed(context, x, "x")?;
    }
    if context.attributes.flag("adj_y", false)? {
        y = transposed(context, y, "y")?;
    }
    Ok(vec![context.emit(MatMul, vec![x, y])?])
}

/// Returns the value with its last two axes exchanged.
fn transposed(context: &mut Context<'_>, x: ValueId, operand: &'static str) -> Result<ValueId, Reason> {
    let shape = context.shape(x);
    let rank = shape.len();
    if rank < 2 {
        let (found, legal) = (format!("{shape:?}"), "at least two axes".to_owned());
        return Err(Reason::OperandValue { operand, found, legal });
    }
    let mut perm: Vec<usize> = (0..rank).collect();
    perm.swap(rank - 2, rank - 1);
    context.permute(x, &perm, "transposed")
}
