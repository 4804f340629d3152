//! OneHot: one value where a position along a new axis equals the index, another value elsewhere.
//! An index outside the axis selects no position.

use npukit_graph::ValueId;
use npukit_graph::op::{CompareKind, Where};
use npukit_numeric::{ElementType, TensorData};

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;
use crate::node::NodeBuilder;
use crate::shape::{MAX_ELEMENTS, tensor};

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let indices = context.input(0, "indices")?;
    let (on, off) = (context.input(2, "on_value")?, context.input(3, "off_value")?);
    let depth = context.integer(1, "depth")?;
    let legal = usize::try_from(depth).ok().filter(|depth| (1..=MAX_ELEMENTS).contains(depth));
    let depth = legal.ok_or_else(|| unsupported("depth", depth, format!("1 to {MAX_ELEMENTS}")))?;
    let shape = context.shape(indices).to_vec();
    let axis = NodeBuilder::axis("axis", context.attributes.int_or("axis", -1)?, shape.len() + 1)?;
    context.reserve(&[depth])?;
    let positions = tensor(
        [vec![depth], vec![1; shape.len() - axis]].concat(),
        TensorData::I64((0..depth as i64).collect()),
    )?;
    let positions = context.make_constant(positions);
    let indices = context.cast(indices, ElementType::I64)?;
    let indices = context.reshaped("apart", indices, [&shape[..axis], &[1], &shape[axis..]].concat())?;
    let hot = context.compare(CompareKind::Equal, indices, positions)?;
    Ok(vec![context.emit(Where, vec![hot, on, off])?])
}
