//! Where with a constant condition, and Trilu: each element is an operand's element or zero.

use npukit_graph::shape::indices;
use npukit_graph::{NodeId, op};
use npukit_numeric::TensorData;

use super::rearrange::gather;
use crate::lower::layers::ops::broadcast::broadcast;
use crate::lower::layers::{Builder, Lowered, Reject};

/// Lowers Where: takes each element from the operand that the condition selects.
///
/// # Errors
///
/// Fails if the condition is not constant, or an operand has no view.
pub fn lower_where(builder: &mut Builder, id: NodeId) -> Result<Lowered, Reject> {
    let node = builder.graph.node(id);
    let condition = builder.graph.constant(node.inputs[0]).cloned();
    let Some((condition, TensorData::Bool(holds))) = condition.as_ref().map(|tensor| (tensor, tensor.data()))
    else {
        return Err(Reject::new(
            "its condition is not constant, and the array cannot compute Booleans",
            "multiply by a mask of zeros and ones, or cut the model before it",
        ));
    };
    let (left, right) = (builder.view(node.inputs[1])?, builder.view(node.inputs[2])?);
    let shape = builder.graph.shape(node.outputs[0]).to_vec();
    let chosen = gather(builder, id, &shape, |element| {
        let view = if holds[broadcast(element, &shape, condition.shape())] { &left } else { &right };
        Some((view, broadcast(element, &shape, &view.shape)))
    })?;
    builder.fusion.set_view(node.outputs[0], chosen);
    Ok(Lowered::Views)
}

/// Lowers Trilu: keeps one triangle of the last two axes.
///
/// # Errors
///
/// Fails if the diagonal is not constant, or the operand has no view.
pub fn trilu(builder: &mut Builder, id: NodeId, trilu: &op::Trilu) -> Result<Lowered, Reject> {
    let node = builder.graph.node(id);
    let view = builder.view(node.inputs[0])?;
    let shape = view.shape.clone();
    let kept = gather(builder, id, &shape, |element| {
        let mut inner =
            indices(element, &shape).skip(shape.len().saturating_sub(2)).map(|index| index as i64);
        let (row, column) = (inner.next()?, inner.next()?);
        let beside = (column - row).saturating_sub(trilu.offset);
        let stays = if trilu.upper { beside >= 0 } else { beside <= 0 };
        stays.then_some((&view, element))
    })?;
    builder.fusion.set_view(node.outputs[0], kept);
    Ok(Lowered::Views)
}
