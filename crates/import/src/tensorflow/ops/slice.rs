//! Slice: first elements and sizes; -1 is the remaining size.

use npukit_graph::ValueId;
use npukit_graph::op::{Slice, SliceRange};

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "input")?;
    let begin = context.required_integers(1, "begin")?;
    let size = context.required_integers(2, "size")?;
    let shape = context.shape(x).to_vec();
    if [begin.len(), size.len()] != [shape.len(); 2] {
        return Err(unsupported("begin, size", [begin.len(), size.len()], "one of each per axis"));
    }
    let ranges = (0..shape.len()).map(|axis| range(axis, shape[axis], begin[axis], size[axis]));
    let ranges = ranges.collect::<Result<_, _>>()?;
    Ok(vec![context.emit(Slice { ranges }, vec![x])?])
}

/// Slice of an axis of `size` elements: `stated` elements starting at `begin`, or all remaining
/// ones for -1.
fn range(axis: usize, size: usize, begin: i64, stated: i64) -> Result<SliceRange, Reason> {
    let start = usize::try_from(begin).ok().filter(|&start| start <= size);
    let rest = start.map_or(0, |start| size - start);
    let length = if stated == -1 { Some(rest) } else { usize::try_from(stated).ok().filter(|&l| l <= rest) };
    match (start, length) {
        (Some(start), Some(length)) => Ok(SliceRange { axis, start, length, step: 1 }),
        _ => Err(unsupported("begin, size", [begin, stated], format!("a part of axis {axis}, 0 to {size}"))),
    }
}
