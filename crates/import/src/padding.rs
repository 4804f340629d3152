//! SAME padding of ONNX and TensorFlow.

/// Number of elements to add to an axis of `size` so that it has `ceil(size / stride)` windows.
/// Windows span `reach` elements and are `stride` apart. The formats define which end gets the odd
/// element.
pub(crate) fn same(size: usize, reach: usize, stride: usize) -> usize {
    let windows = size.div_ceil(stride);
    let covered = windows.saturating_sub(1) * stride + reach;
    covered.saturating_sub(size)
}
