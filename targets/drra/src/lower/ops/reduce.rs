//! Sums, means and extremes over axes.

use npukit_graph::op::{Reduce, ReduceKind};
use npukit_graph::{Node, ValueId};
use npukit_lower::Reject;

use super::dense::constant;
use super::extremes::Extreme;
use super::window::Share;
use super::{operand, result};
use crate::lower::Lowering;
use crate::program::gather::{Axes, Gather, Tail, strides};

/// Lowers a reduction of all elements along some axes.
///
/// # Errors
///
/// The reason why the node cannot be lowered, and what to change.
pub fn reduce(lowering: &mut Lowering<'_>, node: &Node, reduce: &Reduce) -> Result<(), Reject> {
    let (x, y) = (operand(node, 0)?, result(node)?);
    let (rows, _) = over(lowering.graph.shape(x), &reduce.axes);
    let count = rows.length();
    match reduce.kind {
        ReduceKind::Mean => sums(lowering, node, x, y, rows, 1.0 / count.max(1) as f64),
        ReduceKind::Sum => sums(lowering, node, x, y, rows, 1.0),
        ReduceKind::SumSquare => sums_of_squares(lowering, node, x, y, rows),
        ReduceKind::Max => extremes(lowering, node, x, y, rows, Extreme::Max),
        ReduceKind::Min => extremes(lowering, node, x, y, rows, Extreme::Min),
        _ => Err(Reject::new(
            "no mode of the dpu computes this operator",
            "supported are the mean, sum, sum of squares, maximum and minimum",
        )),
    }
}

fn sums(
    lowering: &mut Lowering<'_>,
    node: &Node,
    x: ValueId,
    y: ValueId,
    rows: Gather,
    factor: f64,
) -> Result<(), Reject> {
    let share = Share::new(lowering, x, y, factor)?;
    let source = lowering.read(node, x, share.fraction)?;
    share.push(lowering, node, Gather { source, ..rows })
}

/// Lowers products of each vector with itself.
fn sums_of_squares(
    lowering: &mut Lowering<'_>,
    node: &Node,
    x: ValueId,
    y: ValueId,
    rows: Gather,
) -> Result<(), Reject> {
    let products = lowering.products([x, x], y, None)?;
    let [first, second] = products.operands;
    let first = Gather { source: lowering.read(node, x, first)?, ..rows.clone() };
    let second = Gather { source: lowering.read(node, x, second)?, ..rows };
    let to = lowering.unscaled(node, y, products.result);
    lowering.stream(node, products.sum, vec![first, second], to);
    lowering.finish(node, to, y);
    Ok(())
}

fn extremes(
    lowering: &mut Lowering<'_>,
    node: &Node,
    x: ValueId,
    y: ValueId,
    rows: Gather,
    extreme: Extreme,
) -> Result<(), Reject> {
    let source = lowering.read(node, x, lowering.format.fraction(y))?;
    lowering.extreme_of(node, extreme, Gather { source, ..rows }, y.0 as usize)
}

/// Returns the elements along `axes` of a tensor as vectors, and for each element the number of its
/// vector.
pub(super) fn over(shape: &[usize], axes: &[usize]) -> (Gather, Gather) {
    let stride = strides(shape);
    let all = || shape.iter().copied().zip(stride.iter().copied()).enumerate();
    let (inside, outside): (Vec<_>, Vec<_>) = all().partition(|(axis, _)| axes.contains(axis));
    let only =
        |parts: Vec<(usize, (usize, usize))>| -> Axes { parts.into_iter().map(|part| part.1).collect() };
    let (vectors, elements) = (only(outside), only(inside));
    let mut between = strides(&vectors.iter().map(|axis| axis.0).collect::<Vec<_>>()).into_iter();
    let number = |(axis, (size, _)): (usize, (usize, usize))| match axes.contains(&axis) {
        true => (size, 0),
        false => (size, between.next().expect("one for each axis that is not reduced")),
    };
    let repeats = all().map(number).collect();
    let gather =
        |vectors, elements| Gather { source: constant(0), offset: 0, vectors, elements, tail: Tail::None };
    (gather(vectors, elements), gather(repeats, Vec::new()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_any_axes() {
        let (rows, repeats) = over(&[2, 3, 4], &[1]);
        assert_eq!((rows.vectors, rows.elements), (vec![(2, 12), (4, 1)], vec![(3, 4)]));
        assert_eq!(repeats.vectors, [(2, 4), (3, 0), (4, 1)]);
    }
}
