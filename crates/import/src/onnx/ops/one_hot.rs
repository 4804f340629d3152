//! OneHot and Hardmax: one value at a given position along an axis, another value elsewhere.

use npukit_graph::ValueId;
use npukit_graph::op::{ArgMax, Compare, CompareKind, Reshape, Slice, SliceRange};
use npukit_numeric::ElementType;

use super::super::attributes::unsupported;
use super::super::context::{Context, described};
use super::super::error::Reason;
use super::super::tensor;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    if context.op_type() == "Hardmax" { hardmax(context) } else { one_hot(context) }
}

fn one_hot(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (indices, values) = (context.input(0, "indices")?, context.input(2, "values")?);
    let (shape, depth) = (context.shape(indices).to_vec(), depth(context)?);
    let axis = Context::axis("axis", context.attributes.int_or("axis", -1)?, shape.len() + 1)?;
    let indices = context.cast(indices, ElementType::I64)?;
    let indices = context.counted_from_front(indices, depth)?;
    let apart = [&shape[..axis], &[1], &shape[axis..]].concat();
    let indices = context.helper("apart", Reshape { shape: apart }, vec![indices])?;
    let hot = is_at(context, indices, axis, depth)?;
    let [off, on] =
        [0, 1].map(|start| Slice { ranges: vec![SliceRange { axis: 0, start, length: 1, step: 1 }] });
    let (off, on) = (context.helper("off", off, vec![values])?, context.helper("on", on, vec![values])?);
    Ok(vec![context.choose(hot, on, off)?])
}

/// Translates Hardmax. Before opset 13, it flattens all axes starting at `axis`.
fn hardmax(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "input")?;
    let shape = context.shape(x).to_vec();
    let flat = context.opset < 13;
    let axis = context.attributes.int_or("axis", if flat { 1 } else { -1 })?;
    let axis = Context::axis("axis", axis, shape.len())?;
    let as_one = [&shape[..axis], &[shape[axis..].iter().product()]].concat();
    let rows = if flat { context.reshape(x, as_one)? } else { x };
    let op = ArgMax { smallest: false, axis, keep_dims: true, select_last: false };
    let largest = context.helper("largest", op, vec![rows])?;
    let size = context.shape(rows)[axis];
    let hot = is_at(context, largest, axis, size)?;
    let element = context.element(x);
    let hot = context.cast(hot, element)?;
    Ok(vec![context.reshape(hot, shape)?])
}

/// Whether each of `depth` positions along `axis` equals the index.
fn is_at(context: &mut Context<'_>, indices: ValueId, axis: usize, depth: usize) -> Result<ValueId, Reason> {
    context.reserve(&[depth])?;
    let after = context.shape(indices).len() - axis - 1;
    let shape = [vec![depth], vec![1; after]].concat();
    let positions = context.indices(shape, (0..depth as i64).collect())?;
    context.helper("hot", Compare { kind: CompareKind::Equal }, vec![indices, positions])
}

/// Returns operand `depth`, one number of any type.
fn depth(context: &mut Context<'_>) -> Result<usize, Reason> {
    let depth = context.reals(1, "depth")?.ok_or(Reason::OperandMissing { operand: "depth" })?;
    match depth.reals()[..] {
        [depth] if depth >= 1.0 && depth <= tensor::MAX_ELEMENTS as f64 => Ok(depth as usize),
        [depth] => Err(unsupported("depth", depth, format!("1 to {}", tensor::MAX_ELEMENTS))),
        _ => {
            let (found, legal) = (described(&depth), "one number".to_owned());
            Err(Reason::OperandValue { operand: "depth", found, legal })
        }
    }
}
