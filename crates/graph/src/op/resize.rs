//! Resampling of the image axes.

use npukit_numeric::{ElementType, Tensor};

use super::operands::{Operands, build_floats, floats, infer_tensors, result, tensor};
use super::{OpError, Operator};
use crate::ir::{Value, ValueInfo};
use crate::shape::elements;

/// How a sample between elements is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResizeMode {
    /// The nearest element.
    Nearest(NearestMode),
    /// Linear along each axis.
    Linear,
}

/// Which element is nearest, for a source coordinate between two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the ONNX attribute nearest_mode")]
pub enum NearestMode {
    RoundPreferFloor,
    RoundPreferCeil,
    Floor,
    Ceil,
}

/// How an output index becomes a source coordinate (ONNX `coordinate_transformation_mode`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the names are those of the ONNX attribute")]
pub enum Coordinates {
    HalfPixel,
    PytorchHalfPixel,
    AlignCorners,
    Asymmetric,
}

/// Resamples rows and columns of `[n, h, w, c]`.
#[derive(Clone, Debug, PartialEq)]
pub struct Resize {
    /// Height and width of the result.
    pub size: [usize; 2],
    /// Output over input size of rows and columns, as the model states them (they may differ
    /// from the quotient of the sizes by rounding).
    pub scales: [f32; 2],
    /// How samples are made.
    pub mode: ResizeMode,
    /// How coordinates map.
    pub coordinates: Coordinates,
}

impl Operator for Resize {
    fn name(&self) -> &'static str {
        "Resize"
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        let operands = Operands::new(self, inputs, 1, 1)?;
        let shape = operands.floats(0, "operand", 4, 4)?;
        if self.scales.iter().any(|&scale| !(scale.is_finite() && scale > 0.0)) {
            let (op, found) = (self.name(), format!("{:?}", self.scales));
            return Err(OpError::Attribute { op, attribute: "scales", found, legal: "positive" });
        }
        let sizes = [(shape[1], self.size[0]), (shape[2], self.size[1])];
        if sizes.iter().any(|&(from, to)| from == 0 && to > 0) {
            let (op, found) = (self.name(), format!("{:?}", self.size));
            let legal = "0 where the operand has no elements";
            return Err(OpError::Attribute { op, attribute: "size", found, legal });
        }
        result(vec![shape[0], self.size[0], self.size[1], shape[3]], ElementType::F32)
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        let infos = infer_tensors(self, inputs)?;
        let shape = tensor(self, inputs, 0)?.shape();
        let (height, width, channels) = (shape[1], shape[2], shape[3]);
        let data = floats(self, inputs, 0, "operand")?;
        let (rows, columns) = (self.samples(0, height), self.samples(1, width));
        let mut out = Vec::with_capacity(elements(&infos[0].shape)?);
        for image in data.chunks((height * width * channels).max(1)) {
            for row in &rows {
                for column in &columns {
                    let pixel = |y: usize, x: usize| &image[(y * width + x) * channels..][..channels];
                    let corners = [
                        pixel(row.low, column.low),
                        pixel(row.low, column.high),
                        pixel(row.high, column.low),
                        pixel(row.high, column.high),
                    ];
                    let between = |c: usize| interpolate(corners.map(|corner| corner[c]), row, column);
                    out.extend((0..channels).map(between));
                }
            }
        }
        build_floats(self, &infos, out)
    }
}

/// Where a row or column of the result comes from: between two of the operand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// The row or column before the source coordinate.
    pub low: usize,
    /// The one after it; equal to `low` at the border and for [`ResizeMode::Nearest`].
    pub high: usize,
    /// Weight of `high`, from 0 to 1; `low` has the rest.
    pub fraction: f32,
}

impl Resize {
    /// Where each row (`axis` 0) or column (`axis` 1) of the result comes from, for an operand
    /// with `input` of them. Empty when `input` is 0.
    pub fn samples(&self, axis: usize, input: usize) -> Vec<Sample> {
        let count = if input == 0 { 0 } else { self.size[axis] };
        (0..count).map(|index| self.sample(self.coordinate(axis, index, input), input)).collect()
    }

    /// The source coordinate of an output index, by the formulas of the ONNX standard.
    fn coordinate(&self, axis: usize, index: usize, input: usize) -> f32 {
        let (x, scale, size) = (index as f32, self.scales[axis], self.size[axis]);
        let half_pixel = (x + 0.5) / scale - 0.5;
        match self.coordinates {
            Coordinates::HalfPixel => half_pixel,
            Coordinates::PytorchHalfPixel | Coordinates::AlignCorners if size <= 1 => 0.0,
            Coordinates::PytorchHalfPixel => half_pixel,
            Coordinates::AlignCorners => x * (input - 1) as f32 / (size - 1) as f32,
            Coordinates::Asymmetric => x / scale,
        }
    }

    /// The elements next to a coordinate, which beyond the border is that of the border.
    fn sample(&self, coordinate: f32, input: usize) -> Sample {
        let last = input - 1;
        let coordinate = match self.mode {
            ResizeMode::Linear => coordinate,
            ResizeMode::Nearest(NearestMode::RoundPreferFloor) => (coordinate - 0.5).ceil(),
            ResizeMode::Nearest(NearestMode::RoundPreferCeil) => (coordinate + 0.5).floor(),
            ResizeMode::Nearest(NearestMode::Floor) => coordinate.floor(),
            ResizeMode::Nearest(NearestMode::Ceil) => coordinate.ceil(),
        };
        let coordinate = coordinate.clamp(0.0, last as f32);
        // The cast rounds down, and for sizes beyond 2^24 `last as f32` may lie above `last`.
        let low = (coordinate as usize).min(last);
        let fraction = coordinate - low as f32;
        Sample { low, high: if fraction > 0.0 { (low + 1).min(last) } else { low }, fraction }
    }
}

/// Linear between `[top left, top right, bottom left, bottom right]`.
fn interpolate([tl, tr, bl, br]: [f32; 4], row: &Sample, column: &Sample) -> f32 {
    let (y, x) = (row.fraction, column.fraction);
    tl * ((1.0 - y) * (1.0 - x)) + tr * ((1.0 - y) * x) + bl * (y * (1.0 - x)) + br * (y * x)
}
