//! Mean, Sum, Max, Min, Prod, All and Any over axes; the mean of whole images is an AveragePool.

use npukit_graph::ValueId;
use npukit_graph::op::{AveragePool, Reduce, ReduceKind, Reshape, Window};

use super::super::context::Context;
use super::super::error::Reason;
use crate::node::NodeBuilder;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "input")?;
    let shape = context.shape(x).to_vec();
    let stated = context.required_integers(1, "reduction_indices")?;
    let axes = stated.iter().map(|&axis| NodeBuilder::axis("reduction_indices", axis, shape.len()));
    let mut axes = axes.collect::<Result<Vec<_>, _>>()?;
    axes.sort_unstable();
    axes.dedup();
    let keep_dims = context.attributes.flag("keep_dims", false)?;
    let kind = match context.op() {
        "Mean" if shape.len() == 4 && axes == [1, 2] && !shape.contains(&0) => {
            return image_mean(context, x, &shape, keep_dims);
        }
        "Mean" => ReduceKind::Mean,
        "Sum" => ReduceKind::Sum,
        "Max" | "Any" => ReduceKind::Max,
        "Min" | "All" => ReduceKind::Min,
        "Prod" => ReduceKind::Prod,
        other => return Err(Reason::Operator { operator: other.to_owned() }),
    };
    Ok(vec![context.emit(Reduce { kind, axes, keep_dims }, vec![x])?])
}

/// Returns the mean over rows and columns, as a GlobalAveragePool.
fn image_mean(
    context: &mut Context<'_>,
    x: ValueId,
    shape: &[usize],
    keep_dims: bool,
) -> Result<Vec<ValueId>, Reason> {
    let window = Window::plain([shape[1], shape[2]], [1, 1]);
    let op = AveragePool { window, count_include_pad: false };
    if keep_dims {
        return Ok(vec![context.emit(op, vec![x])?]);
    }
    let mean = context.helper("mean", op, vec![x])?;
    let shape = vec![shape[0], shape[3]];
    Ok(vec![context.emit(Reshape { shape }, vec![mean])?])
}
