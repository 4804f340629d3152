//! Average pooling over windows of an NHWC tensor.

use npukit_numeric::Tensor;
use serde::{Deserialize, Serialize};

use super::operands::{build_floats, floats, infer_tensors, tensor};
use super::pooling::{infer_pool, pool};
use super::{OpError, Operator, Window};
use crate::ir::{Value, ValueInfo};

/// The mean of each window. Operand: `[n, h, w, c]`; result: `[n, oh, ow, c]`, with `[oh, ow]` from
/// [`Window::output`]. GlobalAveragePool is imported as a window of the whole image.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AveragePool {
    /// Windows over rows and columns.
    pub window: Window,
    /// Whether to divide by the whole kernel even if the window extends into the padding.
    pub count_include_pad: bool,
}

impl Operator for AveragePool {
    fn name(&self) -> &'static str {
        "AveragePool"
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        infer_pool(self, &self.window, inputs)
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        let infos = infer_tensors(self, inputs)?;
        let (shape, result) = (tensor(self, inputs, 0)?.shape(), &infos[0].shape);
        let data = floats(self, inputs, 0, "operand")?;
        let mut sums = pool(&self.window, data, shape, result, 0.0, |sum, x| sum + x);
        let (columns, channels) = (result[2], result[3].max(1));
        for (pixel, sums) in sums.chunks_mut(channels).enumerate() {
            let (row, column) = (pixel / columns % result[1], pixel % columns);
            let divisor = self.divisor([row, column], [shape[1], shape[2]]) as f32;
            sums.iter_mut().for_each(|sum| *sum /= divisor);
        }
        build_floats(self, &infos, sums)
    }
}

impl AveragePool {
    /// Returns the divisor of the window sum at `[row, column]` of the result, over an image of
    /// `[h, w]`.
    ///
    /// It is the number of taps on the image and, with `count_include_pad`, on its padding. Taps
    /// that `ceil_mode` moves beyond the padding are never included. At least 1.
    pub fn divisor(&self, position: [usize; 2], image: [usize; 2]) -> usize {
        let taps = [0, 1].map(|axis| {
            let span = self.window.span(axis, position[axis], image[axis]);
            if self.count_include_pad { span.padded } else { span.taps.len() }
        });
        taps[0].saturating_mul(taps[1]).max(1)
    }
}
