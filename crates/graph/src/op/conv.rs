//! Two-dimensional convolution.

use std::ops::Range;

use npukit_numeric::{Rows, Tensor};
use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::operands::{Operands, build_floats, floats, infer_tensors, result, tensor};
use super::{OpError, Operator, Window};
use crate::ir::{Value, ValueInfo};
use crate::product::{Layout, PackedMatrix, block};
use crate::shape::elements;

/// Convolution. Operands: `x [n, h, w, ci]`, `weights [kh, kw, ci / group, co]`, optionally `bias
/// [co]`; result `[n, oh, ow, co]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Conv {
    /// Vertical and horizontal stride, at least 1.
    pub strides: [usize; 2],
    /// Vertical and horizontal distance of taps, at least 1 (dense).
    pub dilations: [usize; 2],
    /// Zero padding: rows above, columns left, rows below, columns right (`auto_pad` is resolved on
    /// import).
    pub pads: [usize; 4],
    /// Number of channel groups, at least 1; divides `ci` and `co`.
    pub group: usize,
}

impl Operator for Conv {
    fn name(&self) -> &'static str {
        "Conv"
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        let operands = Operands::new(self, inputs, 2, 3)?;
        let (x, weights) = operands.convolution(self.group)?;
        let [rows, columns] = self.window([weights[0], weights[1]]).output([x[1], x[2]])?;
        result(vec![x[0], rows, columns, weights[3]], operands.info(0).element)
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        let infos = infer_tensors(self, inputs)?;
        let (x, weights) = (tensor(self, inputs, 0)?.shape(), tensor(self, inputs, 1)?.shape());
        let problem = Problem {
            conv: self,
            window: self.window([weights[0], weights[1]]),
            image: [x[1], x[2]],
            channels: x[3],
            filters: weights[3],
            output: [infos[0].shape[1], infos[0].shape[2]],
        };
        let (data, weights) = (floats(self, inputs, 0, "operand")?, floats(self, inputs, 1, "weights")?);
        let mut out = vec![0.0; elements(&infos[0].shape)?];
        if !out.is_empty() {
            problem.convolve(data, weights, &mut out);
        }
        if inputs.len() == 3 {
            let bias = floats(self, inputs, 2, "bias")?;
            for pixel in out.chunks_mut(bias.len().max(1)) {
                pixel.iter_mut().zip(bias).for_each(|(x, b)| *x += b);
            }
        }
        build_floats(self, &infos, out)
    }
}

impl Conv {
    /// Returns the windows of a kernel of `[kh, kw]` over the image.
    pub fn window(&self, kernel: [usize; 2]) -> Window {
        let Self { strides, dilations, pads, .. } = *self;
        Window { kernel, strides, dilations, pads, ceil_mode: false }
    }
}

/// A convolution of known sizes, over consecutive images.
struct Problem<'a> {
    conv: &'a Conv,
    window: Window,
    /// Rows and columns of the operand.
    image: [usize; 2],
    channels: usize,
    filters: usize,
    /// Rows and columns of the result.
    output: [usize; 2],
}

impl Problem<'_> {
    fn convolve(&self, data: &[f32], weights: &[f32], out: &mut [f32]) {
        let group = self.conv.group;
        if group == self.channels && group == self.filters {
            return self.depthwise(data, weights, out);
        }
        for index in 0..group {
            self.dense(index, data, weights, out);
        }
    }

    /// Visits the taps on the image for result pixel `pixel` (counted over all images). Calls
    /// `visit` with the tap's position in the kernel and the index of the first operand element
    /// under it.
    fn taps(&self, pixel: usize, mut visit: impl FnMut(usize, usize)) {
        self.window.taps(pixel, self.image, self.output, |tap, pixel| visit(tap, pixel * self.channels));
    }

    /// Computes one filter per channel: a matrix product would have a single column.
    fn depthwise(&self, data: &[f32], weights: &[f32], out: &mut [f32]) {
        let taps = self.window.kernel[0] * self.window.kernel[1];
        let block = block(out.len() / self.channels, taps * self.channels);
        out.par_chunks_mut(block * self.channels).enumerate().for_each(|(index, out)| {
            for (i, out) in out.chunks_mut(self.channels).enumerate() {
                self.taps(index * block + i, |tap, start| {
                    let weights = &weights[tap * self.channels..][..self.channels];
                    let operand = &data[start..start + self.channels];
                    for ((out, x), weight) in out.iter_mut().zip(operand).zip(weights) {
                        *out += x * weight;
                    }
                });
            }
        });
    }

    /// Computes one group, as a product of windows and weights.
    fn dense(&self, index: usize, data: &[f32], weights: &[f32], out: &mut [f32]) {
        let group = self.conv.group;
        let (channels, filters) = (self.channels / group, self.filters / group);
        let depth = self.window.kernel[0] * self.window.kernel[1] * channels;
        let layout = Layout { offset: index * filters, ..Layout::row_major(self.filters) };
        let packed = PackedMatrix::new(weights, depth, filters, layout);
        let block = block(out.len() / self.filters, depth * filters);
        out.par_chunks_mut(block * self.filters).enumerate().for_each_init(Vec::new, |unrolled, (i, out)| {
            let pixels = i * block..i * block + out.len() / self.filters;
            let windows = self.windows(index, data, pixels, unrolled);
            packed.multiply_rows(windows, &mut out[index * filters..], self.filters);
        });
    }

    /// Returns the windows of `pixels` in group `index`, one per row, using `unrolled` as a buffer.
    fn windows<'a>(
        &self,
        index: usize,
        data: &'a [f32],
        pixels: Range<usize>,
        unrolled: &'a mut Vec<f32>,
    ) -> Rows<'a, f32> {
        let channels = self.channels / self.conv.group;
        if self.window == Window::plain([1, 1], [1, 1]) {
            // Each window is a single pixel of the operand.
            let values = &data[pixels.start * self.channels + index * channels..];
            return Rows { values, pitch: self.channels, count: pixels.len() };
        }
        let depth = self.window.kernel[0] * self.window.kernel[1] * channels;
        unrolled.clear();
        unrolled.resize(pixels.len() * depth, 0.0);
        for (pixel, row) in pixels.clone().zip(unrolled.chunks_mut(depth.max(1))) {
            self.taps(pixel, |tap, start| {
                let operand = &data[start + index * channels..][..channels];
                row[tap * channels..][..channels].copy_from_slice(operand);
            });
        }
        Rows { values: unrolled, pitch: depth, count: pixels.len() }
    }
}
