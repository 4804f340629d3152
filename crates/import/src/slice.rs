//! Slices in NumPy notation.

use npukit_graph::op::SliceRange;

use crate::error::Reason;
use crate::node::unsupported;

/// Returns the part of an axis of `size` that NumPy's `start:end:step` selects.
pub(crate) fn range(axis: usize, size: usize, start: i64, end: i64, step: i64) -> Result<SliceRange, Reason> {
    if step == 0 {
        return Err(unsupported("steps", step, "any number except 0"));
    }
    let count = size as i64;
    let from_front = |index: i64| if index < 0 { index.saturating_add(count) } else { index };
    // With a positive step, indices end at `count`; with a negative one, they begin at the last and
    // end before 0.
    let (lowest, highest) = if step.is_positive() { (0, count) } else { (-1, count - 1) };
    let first = from_front(start).clamp(lowest.max(0).min(highest), highest);
    let last = from_front(end).clamp(lowest, highest);
    let distance = if step.is_positive() { last - first } else { first - last };
    let length = (distance.max(0) as u64).div_ceil(step.unsigned_abs()) as usize;
    // An empty part starts at 0; a part of one element has step 1.
    let start = if length == 0 { 0 } else { first as usize };
    let step = if length <= 1 { 1 } else { step as isize };
    Ok(SliceRange { axis, start, length, step })
}
