//! Padding by the rule that both formats call SAME.

/// Elements added to an axis of `size` so that windows that reach over `reach` elements, at steps
/// of `stride`, are `ceil(size / stride)`. The formats say at which end the odd one goes.
pub(crate) fn same(size: usize, reach: usize, stride: usize) -> usize {
    let windows = size.div_ceil(stride);
    let covered = windows.saturating_sub(1) * stride + reach;
    covered.saturating_sub(size)
}
