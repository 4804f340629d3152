//! Slices as NumPy writes them.

use npukit_graph::op::SliceRange;

use crate::error::Reason;
use crate::node::unsupported;

/// The part of an axis of `size` that NumPy's `start:end:step` takes.
pub(crate) fn range(axis: usize, size: usize, start: i64, end: i64, step: i64) -> Result<SliceRange, Reason> {
    if step == 0 {
        return Err(unsupported("steps", step, "any number but 0"));
    }
    let count = size as i64;
    let from_front = |index: i64| if index < 0 { index.saturating_add(count) } else { index };
    // Going up, indices end at `count`; going down they begin at the last and end before 0.
    let (lowest, highest) = if step.is_positive() { (0, count) } else { (-1, count - 1) };
    let first = from_front(start).clamp(lowest.max(0).min(highest), highest);
    let last = from_front(end).clamp(lowest, highest);
    let distance = if step.is_positive() { last - first } else { first - last };
    let length = (distance.max(0) as u64).div_ceil(step.unsigned_abs()) as usize;
    // An empty part begins nowhere, a part of one element has no step.
    let start = if length == 0 { 0 } else { first as usize };
    let step = if length <= 1 { 1 } else { step as isize };
    Ok(SliceRange { axis, start, length, step })
}
