//! Resampling of the image axes.

use npukit_numeric::Tensor;
use serde::{Deserialize, Serialize};

use super::interpolation::cubic_weight;
use super::operands::{Operands, build_floats, floats, infer_tensors, result, tensor};
use super::{OpError, Operator};
use crate::ir::{Value, ValueInfo};
use crate::shape::elements;

/// Interpolation between elements.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum ResizeMode {
    /// The nearest element.
    Nearest(NearestMode),
    /// Linear along each axis.
    Linear,
    /// Linear along each axis. When downsampling, widens the filter by the scale factor (ONNX
    /// attribute `antialias`).
    LinearAntialiased,
    /// Cubic convolution along each axis, over four elements unless antialiased.
    Cubic(Cubic),
}

/// Parameters of the cubic convolution.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cubic {
    /// Slope of the kernel at distance 1 (ONNX attribute `cubic_coeff_a`).
    #[serde(with = "npukit_numeric::any_float")]
    pub slope: f32,
    /// Whether to widen the filter by the scale factor when downsampling.
    pub antialias: bool,
    /// Whether elements beyond the border get no weight, with the other weights normalized. If not,
    /// they take the border's value.
    pub exclude_outside: bool,
}

/// Choice of the nearest element for a source coordinate between two elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names come from the ONNX attribute nearest_mode")]
pub enum NearestMode {
    RoundPreferFloor,
    RoundPreferCeil,
    Floor,
    Ceil,
}

/// Mapping from output index to source coordinate (ONNX `coordinate_transformation_mode`).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names come from the ONNX attribute")]
pub enum Coordinates {
    HalfPixel,
    HalfPixelSymmetric,
    PytorchHalfPixel,
    AlignCorners,
    Asymmetric,
    TfHalfPixelForNn,
    TfCropAndResize(Crop),
}

/// The part of the image that is resampled.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Crop {
    /// First and last coordinate of rows and columns: 0 is the first element, 1 the last one.
    #[serde(with = "npukit_numeric::any_float")]
    pub roi: [[f32; 2]; 2],
    /// Value of samples outside the image.
    #[serde(with = "npukit_numeric::any_float")]
    pub extrapolation: f32,
}

/// Resamples rows and columns of `[n, h, w, c]` to `[n, size[0], size[1], c]`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Resize {
    /// Height and width of the result.
    pub size: [usize; 2],
    /// Scale factor of rows and columns, as specified in the model; it may differ from the quotient
    /// of the sizes by rounding.
    #[serde(with = "npukit_numeric::any_float")]
    pub scales: [f32; 2],
    /// Interpolation between elements.
    pub mode: ResizeMode,
    /// Mapping from output index to source coordinate.
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
        if matches!(
            self.mode,
            ResizeMode::LinearAntialiased | ResizeMode::Cubic(Cubic { antialias: true, .. })
        ) {
            self.check_shrinking([shape[1], shape[2]])?;
        }
        result(vec![shape[0], self.size[0], self.size[1], shape[3]], operands.info(0).element)
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        let infos = infer_tensors(self, inputs)?;
        let shape = tensor(self, inputs, 0)?.shape();
        let (height, width, channels) = (shape[1], shape[2], shape[3]);
        let data = floats(self, inputs, 0, "operand")?;
        let (rows, columns) = (self.samples(0, height), self.samples(1, width));
        let mut out = vec![self.extrapolation(); elements(&infos[0].shape)?];
        let mut pixels = out.chunks_mut(channels.max(1));
        for image in data.chunks((height * width * channels).max(1)) {
            for row in &rows {
                for (column, out) in columns.iter().zip(&mut pixels) {
                    blend(image, width, row, column, out);
                }
            }
        }
        build_floats(self, &infos, out)
    }
}

/// A row or column of the result as a weighted sum.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// Rows or columns of the operand and their weights, which sum to 1. Empty if the source
    /// coordinate is outside the image and the value is [`Crop::extrapolation`].
    pub taps: Vec<(usize, f32)>,
}

impl Resize {
    /// Returns the sources of each row (`axis` 0) or column (`axis` 1) of the result, for an
    /// operand with `input` of them. Empty if `input` is 0.
    pub fn samples(&self, axis: usize, input: usize) -> Vec<Sample> {
        let count = if input == 0 { 0 } else { self.size[axis] };
        (0..count).map(|index| self.sample(axis, self.coordinate(axis, index, input), input)).collect()
    }

    /// Returns the value of a sample without taps.
    pub fn extrapolation(&self) -> f32 {
        match self.coordinates {
            Coordinates::TfCropAndResize(crop) => crop.extrapolation,
            _ => 0.0,
        }
    }

    /// Checks that scales and sizes agree, so that no sample has more taps than the operand has
    /// elements.
    fn check_shrinking(&self, input: [usize; 2]) -> Result<(), OpError> {
        let agrees = |axis: usize| input[axis] as f32 * self.scales[axis] > self.size[axis] as f32 - 0.75;
        if agrees(0) && agrees(1) {
            return Ok(());
        }
        let found = format!("{:?} for {input:?} to {:?}", self.scales, self.size);
        Err(OpError::Attribute {
            op: self.name(),
            attribute: "scales",
            found,
            legal: "the result size divided by the operand size",
        })
    }

    /// Returns the source coordinate of an output index, by the formulas of the ONNX standard.
    fn coordinate(&self, axis: usize, index: usize, input: usize) -> f32 {
        let (x, scale, size) = (index as f32, self.scales[axis], self.size[axis]);
        let last = (input - 1) as f32;
        let half_pixel = (x + 0.5) / scale - 0.5;
        match self.coordinates {
            Coordinates::HalfPixel => half_pixel,
            Coordinates::HalfPixelSymmetric => {
                let adjustment = size as f32 / (scale * input as f32);
                input as f32 / 2.0 * (1.0 - adjustment) + half_pixel
            }
            Coordinates::PytorchHalfPixel | Coordinates::AlignCorners if size <= 1 => 0.0,
            Coordinates::PytorchHalfPixel => half_pixel,
            Coordinates::AlignCorners => x * last / (size - 1) as f32,
            Coordinates::Asymmetric => x / scale,
            Coordinates::TfHalfPixelForNn => (x + 0.5) / scale,
            Coordinates::TfCropAndResize(Crop { roi, .. }) => match (roi[axis], size) {
                ([start, end], 0 | 1) => 0.5 * (start + end) * last,
                ([start, end], _) => start * last + x * (end - start) * last / (size - 1) as f32,
            },
        }
    }

    /// Returns the taps of the sample at a coordinate; elements beyond the border take the border's
    /// value.
    fn sample(&self, axis: usize, coordinate: f32, input: usize) -> Sample {
        let last = (input - 1) as f32;
        let cropped = matches!(self.coordinates, Coordinates::TfCropAndResize(_));
        if cropped && !(0.0..=last).contains(&coordinate) {
            return Sample { taps: Vec::new() };
        }
        let scale = self.scales[axis];
        let nearest = match self.mode {
            ResizeMode::LinearAntialiased if scale < 1.0 => {
                let weight = |distance: f32| (1.0 - distance).max(0.0);
                return Kernel { reach: 1.0, weight, exclude_outside: false }
                    .sample(coordinate, scale, input);
            }
            ResizeMode::Cubic(Cubic { slope, antialias, exclude_outside }) => {
                let scale = if antialias { scale.min(1.0) } else { 1.0 };
                let weight = |distance| cubic_weight(distance, slope);
                return Kernel { reach: 2.0, weight, exclude_outside }.sample(coordinate, scale, input);
            }
            ResizeMode::Linear | ResizeMode::LinearAntialiased => coordinate,
            ResizeMode::Nearest(NearestMode::RoundPreferFloor) => (coordinate - 0.5).ceil(),
            ResizeMode::Nearest(NearestMode::RoundPreferCeil) => (coordinate + 0.5).floor(),
            ResizeMode::Nearest(NearestMode::Floor) => coordinate.floor(),
            ResizeMode::Nearest(NearestMode::Ceil) => coordinate.ceil(),
        };
        let coordinate = nearest.clamp(0.0, last);
        // The cast rounds down. For sizes beyond 2^24, `last` may be above the last index.
        let low = (coordinate as usize).min(input - 1);
        let fraction = coordinate - low as f32;
        // Fractions occur only before the last index: a float beyond 2^23 has no fraction.
        if fraction > 0.0 {
            return Sample { taps: vec![(low, 1.0 - fraction), (low + 1, fraction)] };
        }
        Sample { taps: vec![(low, 1.0)] }
    }
}

/// A kernel: its radius at scale 1, and its weight function.
struct Kernel<F> {
    reach: f32,
    weight: F,
    exclude_outside: bool,
}

impl<F: Fn(f32) -> f32> Kernel<F> {
    /// Returns the sample at a coordinate. The radius of its weights is multiplied by `1 / scale`,
    /// with `scale` at most 1.
    fn sample(&self, coordinate: f32, scale: f32, input: usize) -> Sample {
        let (reach, size) = (self.reach / scale, input as isize);
        // Farther outside, all taps are the border element.
        let coordinate = coordinate.clamp(-reach - 1.0, input as f32 + reach);
        let (first, last) = ((coordinate - reach).ceil() as isize, (coordinate + reach).floor() as isize);
        let mut taps: Vec<(usize, f32)> = Vec::new();
        for position in first..=last {
            if self.exclude_outside && !(0..size).contains(&position) {
                continue;
            }
            let weight = (self.weight)((position as f32 - coordinate).abs() * scale);
            let index = position.clamp(0, size - 1) as usize;
            match taps.last_mut() {
                Some((known, sum)) if *known == index => *sum += weight,
                _ => taps.push((index, weight)),
            }
        }
        let sum: f32 = taps.iter().map(|(_, weight)| weight).sum();
        taps.retain(|(_, weight)| *weight != 0.0);
        if taps.is_empty() || sum == 0.0 {
            taps = vec![((coordinate.max(0.0) as usize).min(input - 1), 1.0)];
        } else {
            taps.iter_mut().for_each(|(_, weight)| *weight /= sum);
        }
        Sample { taps }
    }
}

/// Adds up the weighted pixels at the taps of `row` and `column`, in an image of `width` columns.
/// Leaves `out` unchanged without taps.
fn blend(image: &[f32], width: usize, row: &Sample, column: &Sample, out: &mut [f32]) {
    let mut first = true;
    for &(y, down) in &row.taps {
        for &(x, right) in &column.taps {
            let (pixel, weight) = (&image[(y * width + x) * out.len()..][..out.len()], down * right);
            // The first tap overwrites `out`: a single tap of weight 1 keeps the element bit for
            // bit.
            if std::mem::take(&mut first) {
                out.iter_mut().zip(pixel).for_each(|(out, x)| *out = weight * x);
            } else {
                out.iter_mut().zip(pixel).for_each(|(out, x)| *out += weight * x);
            }
        }
    }
}
