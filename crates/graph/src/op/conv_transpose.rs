//! Two-dimensional transposed convolution.

use serde::{Deserialize, Serialize};
use std::ops::Range;

use npukit_numeric::Tensor;

use super::operands::{Operands, build_floats, floats, infer_tensors, result, tensor};
use super::{OpError, Operator};
use crate::ir::{Value, ValueInfo};
use crate::product::{Layout, PackedMatrix};
use crate::shape::elements;

/// Transposed convolution: each element of the operand adds the kernel, times itself, to the result
/// at its position times the stride.
///
/// Operands: `x [n, h, w, ci]`, `weights [kh, kw, ci / group, co]`, optionally `bias [co]`; result
/// `[n, oh, ow, co]` with `oh = (h - 1) * stride + (kh - 1) * dilation + 1 + output_padding -
/// pads`.
///
/// The weights have the layout of [`Conv`](super::Conv): the output channels come last, and output
/// channel `o` uses only the input channels of its group.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ConvTranspose {
    /// Vertical and horizontal distance of kernels in the result, at least 1.
    pub strides: [usize; 2],
    /// Vertical and horizontal distance of taps, at least 1 (dense).
    pub dilations: [usize; 2],
    /// Rows above, columns left, rows below, columns right that are cropped from the result
    /// (`auto_pad` and `output_shape` are resolved on import).
    pub pads: [usize; 4],
    /// Rows below and columns right that the result has beyond the last kernel.
    pub output_padding: [usize; 2],
    /// Number of channel groups, at least 1; divides `ci` and `co`.
    pub group: usize,
}

impl Operator for ConvTranspose {
    fn name(&self) -> &'static str {
        "ConvTranspose"
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        let operands = Operands::new(self, inputs, 2, 3)?;
        let (x, weights) = operands.convolution(self.group)?;
        let [rows, columns] = self.output([x[1], x[2]], [weights[0], weights[1]])?;
        result(vec![x[0], rows, columns, weights[3]], operands.info(0).element)
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        let infos = infer_tensors(self, inputs)?;
        let (x, weights) = (tensor(self, inputs, 0)?.shape(), tensor(self, inputs, 1)?.shape());
        let problem = Problem {
            conv: self,
            image: [x[1], x[2]],
            kernel: [weights[0], weights[1]],
            channels: x[3],
            filters: weights[3],
            output: [infos[0].shape[1], infos[0].shape[2]],
        };
        let (data, weights) = (floats(self, inputs, 0, "operand")?, floats(self, inputs, 1, "weights")?);
        let mut out = vec![0.0; elements(&infos[0].shape)?];
        if let Some(bias) = inputs.get(2).and_then(|bias| bias.as_f32()) {
            out.chunks_mut(bias.len().max(1)).for_each(|pixel| pixel.copy_from_slice(bias));
        }
        if !data.is_empty() && !out.is_empty() {
            problem.spread(data, weights, &mut out);
        }
        build_floats(self, &infos, out)
    }
}

impl ConvTranspose {
    /// Returns rows and columns of the result for an image of `[h, w]` and a kernel of `[kh, kw]`.
    ///
    /// # Errors
    ///
    /// A stride, dilation or kernel of 0; a size beyond the limit of tensors; pads that crop more
    /// than the whole result.
    pub fn output(&self, image: [usize; 2], kernel: [usize; 2]) -> Result<[usize; 2], OpError> {
        let attributes = [("strides", self.strides), ("dilations", self.dilations), ("kernel", kernel)];
        for (attribute, values) in attributes {
            if values.iter().any(|&value| value == 0 || elements(&[value]).is_err()) {
                let (op, found) = (self.name(), format!("{values:?}"));
                return Err(OpError::Attribute { op, attribute, found, legal: "1 to 2^31" });
            }
        }
        self.pads.iter().chain(&self.output_padding).try_for_each(|&pad| elements(&[pad]).map(drop))?;
        Ok([self.output_axis(0, image, kernel)?, self.output_axis(1, image, kernel)?])
    }

    /// The sizes are bounded: products of two of them fit 64 bits.
    fn output_axis(&self, axis: usize, image: [usize; 2], kernel: [usize; 2]) -> Result<usize, OpError> {
        let (before, after) = (self.pads[axis], self.pads[axis + 2]);
        elements(&[image[axis]])?;
        let reach = (kernel[axis] - 1) * self.dilations[axis] + 1 + self.output_padding[axis];
        let all = image[axis].checked_sub(1).map_or(0, |last| last * self.strides[axis] + reach);
        match all.checked_sub(before + after) {
            Some(size) => Ok(size),
            None => Err(OpError::Padding {
                op: self.name(),
                axis: axis + 1,
                size: all,
                before: -(before as isize),
                after: -(after as isize),
                reason: "that crops more than the whole axis",
            }),
        }
    }

    /// Returns the taps of a kernel of `kernel` rows (`axis` 0) or columns (`axis` 1) that map
    /// element `index` of the operand into a result of `size` elements. The attributes must be
    /// valid ([`ConvTranspose::output`]).
    pub fn taps(&self, axis: usize, index: usize, kernel: usize, size: usize) -> Range<usize> {
        let (start, step) = (index * self.strides[axis], self.dilations[axis]);
        let below = |limit: usize| limit.saturating_sub(start).div_ceil(step).min(kernel);
        below(self.pads[axis])..below(self.pads[axis] + size)
    }

    /// Returns the row (`axis` 0) or column (`axis` 1) of the result to which tap `tap` maps
    /// element `index`. `None` if it is cropped from a result of `size` elements.
    pub fn target(&self, axis: usize, index: usize, tap: usize, size: usize) -> Option<usize> {
        let position = index * self.strides[axis] + tap * self.dilations[axis];
        position.checked_sub(self.pads[axis]).filter(|&position| position < size)
    }
}

/// Number of operand pixels processed at a time; bounds the memory for their products.
const PIXELS: usize = 64;

/// A transposed convolution of known sizes, over consecutive images.
struct Problem<'a> {
    conv: &'a ConvTranspose,
    /// Rows and columns of the operand.
    image: [usize; 2],
    kernel: [usize; 2],
    channels: usize,
    filters: usize,
    /// Rows and columns of the result.
    output: [usize; 2],
}

impl Problem<'_> {
    /// Adds all products to `out`.
    fn spread(&self, data: &[f32], weights: &[f32], out: &mut [f32]) {
        let group = self.conv.group;
        if group == self.channels && group == self.filters {
            return self.depthwise(data, weights, out);
        }
        for index in 0..group {
            self.dense(index, data, weights, out);
        }
    }

    /// Returns the taps of the kernel, row by row.
    fn taps(&self) -> impl Iterator<Item = [usize; 2]> {
        let [rows, columns] = self.kernel;
        (0..rows).flat_map(move |row| (0..columns).map(move |column| [row, column]))
    }

    /// Returns the index of the first element of the result pixel to which tap `[ky, kx]` maps
    /// operand pixel `pixel` (counted over all images).
    fn target(&self, pixel: usize, [ky, kx]: [usize; 2]) -> Option<usize> {
        let ([height, width], [rows, columns]) = (self.image, self.output);
        let y = self.conv.target(0, pixel / width % height, ky, rows)?;
        let x = self.conv.target(1, pixel % width, kx, columns)?;
        Some(((pixel / (height * width) * rows + y) * columns + x) * self.filters)
    }

    /// Computes one filter per channel: a matrix product would have a single column.
    fn depthwise(&self, data: &[f32], weights: &[f32], out: &mut [f32]) {
        for (pixel, operand) in data.chunks(self.channels).enumerate() {
            for (tap, weights) in self.taps().zip(weights.chunks(self.channels)) {
                let Some(start) = self.target(pixel, tap) else { continue };
                let out = &mut out[start..start + self.channels];
                for ((out, x), weight) in out.iter_mut().zip(operand).zip(weights) {
                    *out += x * weight;
                }
            }
        }
    }

    /// Computes one group: for each tap, the product of pixels and weights, added at the tap's
    /// target.
    fn dense(&self, index: usize, data: &[f32], weights: &[f32], out: &mut [f32]) {
        let group = self.conv.group;
        let (channels, filters) = (self.channels / group, self.filters / group);
        let layout = Layout { offset: index * filters, ..Layout::row_major(self.filters) };
        let taps = weights.chunks(channels * self.filters);
        let taps: Vec<PackedMatrix> =
            taps.map(|tap| PackedMatrix::new(tap, channels, filters, layout)).collect();
        let mut products = vec![0.0; PIXELS * filters];
        let first = index * channels;
        for (block, rows) in data.chunks(PIXELS * self.channels).enumerate() {
            let own = rows.chunks(self.channels).flat_map(|pixel| &pixel[first..first + channels]);
            let own: Vec<f32> = own.copied().collect();
            for (tap, packed) in self.taps().zip(&taps) {
                products.fill(0.0);
                packed.multiply(&own, &mut products, filters);
                let pixels = rows.len() / self.channels;
                for (i, product) in products.chunks(filters).enumerate().take(pixels) {
                    let Some(start) = self.target(block * PIXELS + i, tap) else { continue };
                    let out = &mut out[start + index * filters..][..filters];
                    out.iter_mut().zip(product).for_each(|(out, product)| *out += product);
                }
            }
        }
    }
}
