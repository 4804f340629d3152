//! Helpers of the pooling operators: shapes, and iteration over windows.

use super::operands::{Operands, result};
use super::{OpError, Operator, Window};
use crate::ir::{Value, ValueInfo};

/// Infers the result `[n, oh, ow, c]` of pooling over `[n, h, w, c]`.
pub(super) fn infer_pool(
    op: &dyn Operator,
    window: &Window,
    inputs: &[&Value],
) -> Result<Vec<ValueInfo>, OpError> {
    let operands = Operands::new(op, inputs, 1, 1)?;
    let shape = operands.floats(0, "operand", 4, 4)?;
    let [rows, columns] = window.output([shape[1], shape[2]])?;
    result(vec![shape[0], rows, columns, shape[3]], operands.info(0).element)
}

/// Combines the elements under each window, channel by channel, starting with `initial`. `shape` is
/// `[n, h, w, c]`, `result` the shape from [`infer_pool`].
pub(super) fn pool(
    window: &Window,
    data: &[f32],
    shape: &[usize],
    result: &[usize],
    initial: f32,
    combine: impl Fn(f32, f32) -> f32,
) -> Vec<f32> {
    let (height, width, channels) = (shape[1], shape[2], shape[3]);
    let mut out = vec![initial; result.iter().product()];
    for (pixel, out) in out.chunks_mut(channels.max(1)).enumerate() {
        window.taps(pixel, [height, width], [result[1], result[2]], |_, pixel| {
            let taps = &data[pixel * channels..][..channels];
            out.iter_mut().zip(taps).for_each(|(out, &tap)| *out = combine(*out, tap));
        });
    }
    out
}
