//! Positions of the maxima of pooling windows.

use npukit_numeric::{ElementType, Tensor, TensorData};
use serde::{Deserialize, Serialize};

use super::operands::{build, floats, infer_tensors, tensor};
use super::pooling::infer_pool;
use super::{OpError, Operator, Window};
use crate::ir::{Value, ValueInfo};

/// The position of the largest value of each window, the first one for equal values: the second
/// result of ONNX's MaxPool. Operand: `[n, h, w, c]`; result: 64-bit integers `[n, oh, ow, c]`.
///
/// As the standard requires, positions are row-major indices into `[n, c, h, w]`. The position of a
/// window with padding only is 0.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MaxPoolIndices {
    /// Windows over rows and columns.
    pub window: Window,
    /// Whether the positions in each image are column-major.
    pub column_major: bool,
}

impl Operator for MaxPoolIndices {
    fn name(&self) -> &'static str {
        "MaxPoolIndices"
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        let infos = infer_pool(self, &self.window, inputs)?;
        Ok(infos.into_iter().map(|info| ValueInfo { element: ElementType::I64, ..info }).collect())
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        let infos = infer_tensors(self, inputs)?;
        let (shape, result) = (tensor(self, inputs, 0)?.shape(), &infos[0].shape);
        let data = floats(self, inputs, 0, "operand")?;
        let mut positions = Vec::with_capacity(result.iter().product());
        for image in 0..result[0] {
            for row in 0..result[1] {
                for column in 0..result[2] {
                    let position = |channel| self.position(data, shape, [image, row, column, channel]);
                    positions.extend((0..result[3]).map(position));
                }
            }
        }
        Ok(vec![build(self, result, TensorData::I64(positions))?])
    }
}

impl MaxPoolIndices {
    /// Returns the position for one element `[image, row, column, channel]` of the result.
    fn position(&self, data: &[f32], shape: &[usize], [image, row, column, channel]: [usize; 4]) -> i64 {
        let (height, width, channels) = (shape[1], shape[2], shape[3]);
        let (rows, columns) = (self.window.span(0, row, height), self.window.span(1, column, width));
        let mut best: Option<(f32, usize)> = None;
        for y in (0..rows.taps.len()).map(|tap| rows.first + tap * self.window.dilations[0]) {
            for x in (0..columns.taps.len()).map(|tap| columns.first + tap * self.window.dilations[1]) {
                let value = data[((image * height + y) * width + x) * channels + channel];
                let within = if self.column_major { x * height + y } else { y * width + x };
                // Keeps NaN, as in MaxPool.
                if best.is_none_or(|(most, _)| value > most || value.is_nan()) {
                    best = Some((value, (image * channels + channel) * height * width + within));
                }
            }
        }
        best.map_or(0, |(_, position)| position as i64)
    }
}
