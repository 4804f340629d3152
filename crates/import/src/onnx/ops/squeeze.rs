//! Squeeze: the axes are an attribute before opset 13, and an operand since.

use npukit_graph::ValueId;
use npukit_graph::op::Reshape;

use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "data")?;
    let stated = context.integers_since(13, 1, "axes")?;
    let shape = context.shape(x).to_vec();
    let axes = match stated {
        None => (0..shape.len()).filter(|&axis| shape[axis] == 1).collect(),
        Some(axes) => axes
            .iter()
            .map(|&axis| Context::axis("axes", axis, shape.len()))
            .collect::<Result<Vec<_>, _>>()?,
    };
    if let Some(&axis) = axes.iter().find(|&&axis| shape[axis] != 1) {
        let found = format!("{shape:?}");
        return Err(Reason::OperandValue { operand: "data", found, legal: format!("size 1 at axis {axis}") });
    }
    let kept = (0..shape.len()).filter(|axis| !axes.contains(axis)).map(|axis| shape[axis]).collect();
    Ok(vec![context.emit(Reshape { shape: kept }, vec![x])?])
}
