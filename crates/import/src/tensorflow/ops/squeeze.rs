//! Squeeze: removes all axes of size 1, or the listed ones.

use npukit_graph::ValueId;
use npukit_graph::op::Reshape;

use super::super::context::Context;
use super::super::error::Reason;
use crate::node::NodeBuilder;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "input")?;
    let shape = context.shape(x).to_vec();
    // Default: without axes, all axes of size 1 are removed.
    let stated = context.attributes.ints("squeeze_dims")?.unwrap_or_default();
    let axes: Vec<usize> = if stated.is_empty() {
        (0..shape.len()).filter(|&axis| shape[axis] == 1).collect()
    } else {
        let axes = stated.iter().map(|&axis| NodeBuilder::axis("squeeze_dims", axis, shape.len()));
        axes.collect::<Result<_, _>>()?
    };
    if let Some(&axis) = axes.iter().find(|&&axis| shape[axis] != 1) {
        let found = format!("{shape:?}");
        return Err(Reason::OperandValue {
            operand: "input",
            found,
            legal: format!("size 1 at axis {axis}"),
        });
    }
    let kept = (0..shape.len()).filter(|axis| !axes.contains(axis)).map(|axis| shape[axis]).collect();
    let y = context.emit(Reshape { shape: kept }, vec![x])?;
    context.blocks.removed(x, y, &axes);
    Ok(vec![y])
}
