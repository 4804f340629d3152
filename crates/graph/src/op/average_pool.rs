//! Average pooling over windows of an NHWC tensor.

use npukit_numeric::Tensor;
use serde::{Deserialize, Serialize};

use super::operands::{build_floats, floats, infer_tensors, tensor};
use super::pooling::{infer_pool, pool};
use super::{OpError, Operator, Window};
use crate::ir::{Value, ValueInfo};

/// The mean of each window. Operand: `[n, h, w, c]`; result: `[n, oh, ow, c]`, `[oh, ow]` as [`Window::output`] gives
/// them. GlobalAveragePool is imported as a window of the whole image.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct AveragePool {
    /// The windows over rows and columns.
    pub window: Window,
    /// Divides by the whole kernel even where the window hangs over the edge into the padding.
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
    /// What the sum of the window at `[row, column]` of the result is divided by, over an image
    /// of `[h, w]`: the taps on the image, with `count_include_pad` also those on its padding.
    /// Taps that `ceil_mode` pushes beyond the padding never count. At least 1.
    pub fn divisor(&self, position: [usize; 2], image: [usize; 2]) -> usize {
        let taps = [0, 1].map(|axis| {
            let span = self.window.span(axis, position[axis], image[axis]);
            if self.count_include_pad { span.padded } else { span.taps.len() }
        });
        taps[0].saturating_mul(taps[1]).max(1)
    }
}
