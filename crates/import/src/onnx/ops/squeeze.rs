//! Squeeze and Unsqueeze: the axes are an attribute before opset 13, and an operand since.

use npukit_graph::ValueId;
use npukit_graph::op::Reshape;

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "data")?;
    if context.op_type() == "Unsqueeze" {
        return unsqueeze(context, x);
    }
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

fn unsqueeze(context: &mut Context<'_>, x: ValueId) -> Result<Vec<ValueId>, Reason> {
    let stated = context.integers_since(13, 1, "axes")?.ok_or(Reason::AttributeMissing { name: "axes" })?;
    let shape = context.shape(x).to_vec();
    // Axes refer to the result.
    let rank = shape.len() + stated.len();
    let mut axes =
        stated.iter().map(|&axis| Context::axis("axes", axis, rank)).collect::<Result<Vec<_>, _>>()?;
    axes.sort_unstable();
    axes.dedup();
    if axes.len() != stated.len() {
        return Err(unsupported("axes", stated, "each axis once"));
    }
    let mut sizes = shape.into_iter();
    let mut size = || sizes.next().expect("axes that are not new exist in the operand");
    let shape = (0..rank).map(|axis| if axes.contains(&axis) { 1 } else { size() }).collect();
    Ok(vec![context.emit(Reshape { shape }, vec![x])?])
}
