//! What the driver does: other shapes and orders of the same elements, and padding.

use npukit_graph::{Node, ValueId};

use super::{operand, result};
use crate::lower::gather::{Gather, Tail, strides};
use crate::lower::plan::{Place, Task};
use crate::lower::{Lowering, Reject};

/// The same elements in the same order.
pub fn reshape(lowering: &mut Lowering<'_>, node: &Node) -> Result<(), Reject> {
    let (x, y) = (operand(node, 0)?, result(node)?);
    let count = lowering.graph.shape(y).iter().product();
    let to = Place { offset: 0, axes: vec![(count, 1)] };
    let from = Gather::rows(lowering.source(x, kept_fraction(lowering, x, y)?)?, 1, count);
    lowering.push(node, y.0 as usize, vec![Task::Move { from, to }]);
    Ok(())
}

/// Axes in another order.
pub fn transpose(lowering: &mut Lowering<'_>, node: &Node, perm: &[usize]) -> Result<(), Reject> {
    let (x, y) = (operand(node, 0)?, result(node)?);
    let (shape, stride) = (lowering.graph.shape(y), strides(lowering.graph.shape(x)));
    let axes = shape.iter().zip(perm).map(|(&size, &axis)| (size, stride.get(axis).copied().unwrap_or(0)));
    let (elements, count) = (axes.collect(), shape.iter().product());
    let source = lowering.source(x, kept_fraction(lowering, x, y)?)?;
    let from = Gather { source, offset: 0, vectors: vec![(1, 0)], elements, tail: Tail::None };
    let to = Place { offset: 0, axes: vec![(count, 1)] };
    lowering.push(node, y.0 as usize, vec![Task::Move { from, to }]);
    Ok(())
}

/// The fraction bits of operand and result, which must be the same.
fn kept_fraction(lowering: &Lowering<'_>, x: ValueId, y: ValueId) -> Result<i32, Reject> {
    let (from, to) = (lowering.format.fraction(x), lowering.format.fraction(y));
    let reason = format!("operand and result have {from} and {to} fraction bits");
    if from == to { Ok(from) } else { Err(Reject::new(reason, "give them the same")) }
}

/// A new value: `x` with so many elements of `fill` before and behind it along each axis.
pub(super) fn padded(
    lowering: &mut Lowering<'_>,
    node: &Node,
    x: ValueId,
    pads: &[[usize; 2]],
    fill: i16,
) -> Result<usize, Reject> {
    let (fraction, own) = (lowering.format.fraction(x), lowering.graph.shape(x).to_vec());
    let shape: Vec<usize> =
        own.iter().zip(pads).map(|(size, [before, after])| size + before + after).collect();
    let value = lowering.temporary(&node.name, shape.clone(), fraction);
    let stride = strides(&shape);
    let offset = pads.iter().zip(&stride).map(|([before, _], stride)| before * stride).sum();
    let axes = own.iter().copied().zip(stride).collect();
    let from = Gather::rows(lowering.source(x, fraction)?, 1, own.iter().product());
    let tasks = vec![Task::Fill(fill), Task::Move { from, to: Place { offset, axes } }];
    lowering.push(node, value, tasks);
    Ok(value)
}
