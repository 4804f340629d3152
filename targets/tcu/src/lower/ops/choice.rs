//! Where with a constant condition, and Trilu: elements of one operand or another, or zero.

use npukit_graph::op;
use npukit_numeric::TensorData;

use super::binary::broadcast;
use super::rearrange::{gather, indices};
use crate::lower::layers::{Builder, Lowered, Reject};

/// Takes each element from the operand that the condition says.
pub fn lower_where(builder: &mut Builder, i: usize) -> Result<Lowered, Reject> {
    let node = &builder.graph.nodes[i];
    let condition = builder.graph.constant(node.inputs[0]).cloned();
    let Some((condition, TensorData::Bool(holds))) = condition.as_ref().map(|tensor| (tensor, tensor.data()))
    else {
        return Err(Reject::new(
            "its condition is not a constant, and the array has no truth values",
            "multiply by a mask of zeros and ones, or cut the model before it",
        ));
    };
    let (left, right) = (builder.view(node.inputs[1])?.clone(), builder.view(node.inputs[2])?.clone());
    let shape = builder.graph.shape(node.outputs[0]).to_vec();
    let chosen = gather(builder, i, &shape, |element| {
        let view = if holds[broadcast(element, &shape, condition.shape())] { &left } else { &right };
        Some((view, broadcast(element, &shape, &view.shape)))
    })?;
    builder.set_view(node.outputs[0], chosen);
    Ok(Lowered::Views)
}

/// Keeps one triangle of the last two axes.
pub fn trilu(builder: &mut Builder, i: usize, trilu: &op::Trilu) -> Result<Lowered, Reject> {
    let node = &builder.graph.nodes[i];
    let view = builder.view(node.inputs[0])?.clone();
    let shape = view.shape.clone();
    let kept = gather(builder, i, &shape, |element| {
        let mut inner =
            indices(element, &shape).skip(shape.len().saturating_sub(2)).map(|index| index as i64);
        let (row, column) = (inner.next()?, inner.next()?);
        let beside = (column - row).saturating_sub(trilu.offset);
        let stays = if trilu.upper { beside >= 0 } else { beside <= 0 };
        stays.then_some((&view, element))
    })?;
    builder.set_view(node.outputs[0], kept);
    Ok(Lowered::Views)
}
