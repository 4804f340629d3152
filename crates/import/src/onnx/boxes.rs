//! Constant indices that form a box, a range along each axis. Gathering with such indices is a
//! Slice; scattering is a Concat of the old and new parts. Exporters write assignments to slices in
//! this form.

use npukit_graph::ValueId;
use npukit_graph::op::{Concat, Slice, SliceRange};

use super::context::Context;
use super::error::Reason;

/// Maximum number of examined indices. Their coordinates take several times their memory.
const MOST: usize = 1 << 20;

/// Returns the elements of a constant index operand, or `None` if it is computed at run time.
pub(super) fn known(context: &mut Context<'_>, indices: ValueId) -> Result<Option<Vec<i64>>, Reason> {
    if !context.is_constant(indices) {
        return Ok(None);
    }
    let shape = context.shape(indices).to_vec();
    if shape.iter().product::<usize>() > MOST {
        return Ok(None);
    }
    context.reserve(&shape)?;
    let constant = context.constant(indices, "indices")?;
    Ok(Some(constant.reals().iter().map(|&index| index as i64).collect()))
}

/// Returns the coordinates that indices along `axis` of `sizes` select. The other coordinates are
/// the index's own position in `shape`.
pub(super) fn along_axis(
    sizes: &[usize],
    axis: usize,
    shape: &[usize],
    indices: &[i64],
) -> Option<Vec<Vec<usize>>> {
    if shape.len() != sizes.len() {
        return None;
    }
    let place = |(element, &index): (usize, &i64)| {
        let mut place: Vec<usize> = npukit_graph::shape::indices(element, shape).collect();
        place[axis] = position(index, sizes[axis])?;
        Some(place)
    };
    indices.iter().enumerate().map(place).collect()
}

/// Returns the coordinates that tuples of `width` indices select in the first axes of `sizes`.
pub(super) fn tuples(sizes: &[usize], width: usize, indices: &[i64]) -> Option<Vec<Vec<usize>>> {
    let sizes = sizes.get(..width).filter(|sizes| !sizes.is_empty())?;
    let place =
        |tuple: &[i64]| tuple.iter().zip(sizes).map(|(&index, &size)| position(index, size)).collect();
    indices.chunks(width).map(place).collect()
}

/// Converts an index to one from 0. Negative indices count from the end.
fn position(index: i64, size: usize) -> Option<usize> {
    let index = if index < 0 { index.checked_add(size as i64)? } else { index };
    usize::try_from(index).ok().filter(|&index| index < size)
}

/// Returns the ranges whose row-major elements are `places`, or `None` if the places do not form a
/// box.
pub(super) fn of(places: &[Vec<usize>]) -> Option<Vec<SliceRange>> {
    let first = places.first()?;
    let ranges = (0..first.len()).map(|axis| {
        let mut values: Vec<usize> = places.iter().map(|place| place[axis]).collect();
        values.sort_unstable();
        values.dedup();
        let step = values.get(1).map_or(1, |second| second - values[0]);
        let even = values.windows(2).all(|pair| pair[1] - pair[0] == step);
        even.then_some(SliceRange { axis, start: values[0], length: values.len(), step: step as isize })
    });
    let ranges = ranges.collect::<Option<Vec<_>>>()?;
    let lengths: Vec<usize> = ranges.iter().map(|range| range.length).collect();
    let is_at = |(element, place): (usize, &Vec<usize>)| {
        let within: Vec<usize> = npukit_graph::shape::indices(element, &lengths).collect();
        ranges
            .iter()
            .zip(within)
            .zip(place)
            .all(|((range, i), &at)| range.start + i * range.step.unsigned_abs() == at)
    };
    let is_box = lengths.iter().product::<usize>() == places.len() && places.iter().enumerate().all(is_at);
    is_box.then_some(ranges)
}

/// Whether the elements of the ranges are contiguous.
pub(super) fn is_dense(ranges: &[SliceRange]) -> bool {
    ranges.iter().all(|range| range.step == 1)
}

/// Replaces a dense box of elements in `data` by `new`, which has the shape of the box.
pub(super) fn replace(
    context: &mut Context<'_>,
    data: ValueId,
    new: ValueId,
    ranges: &[SliceRange],
) -> Result<ValueId, Reason> {
    let shape = context.shape(data).to_vec();
    let is_part = |range: &&SliceRange| range.length < shape[range.axis];
    let Some(&range) = ranges.iter().find(is_part) else { return Ok(new) };
    let SliceRange { axis, start, length, .. } = range;
    let cut = |context: &mut Context<'_>, start: usize, length: usize| {
        let range = SliceRange { axis, start, length, step: 1 };
        context.helper("part", Slice { ranges: vec![range] }, vec![data])
    };
    let others: Vec<SliceRange> = ranges.iter().filter(|other| other.axis != axis).copied().collect();
    let middle = match others.iter().any(|other| is_part(&other)) {
        true => {
            let old = cut(context, start, length)?;
            replace(context, old, new, &others)?
        }
        false => new,
    };
    let end = start + length;
    let mut parts = Vec::new();
    if start > 0 {
        parts.push(cut(context, 0, start)?);
    }
    parts.push(middle);
    if end < shape[axis] {
        parts.push(cut(context, end, shape[axis] - end)?);
    }
    context.helper("joined", Concat { axis }, parts)
}
