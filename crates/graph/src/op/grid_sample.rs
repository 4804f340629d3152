//! Samples of an image at given positions.

use npukit_numeric::Tensor;
use serde::{Deserialize, Serialize};

use super::interpolation::cubic_weight;
use super::operands::{Operands, build_floats, floats, infer_tensors, result, tensor};
use super::{OpError, Operator};
use crate::ir::{Value, ValueInfo};

/// Interpolation between elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SampleMode {
    /// The nearest element; for two, the one with the even index.
    Nearest,
    /// Linear along each axis.
    Linear,
    /// Cubic convolution along each axis.
    Cubic,
}

/// Values outside the image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Outside {
    /// Zeros.
    Zeros,
    /// The nearest border element.
    Border,
    /// The image mirrored at its border.
    Reflection,
}

/// Unit of the coordinates.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum GridPlaces {
    /// -1 and 1 are the outer edges of the outermost elements.
    Edges,
    /// -1 and 1 are the centers of the outermost elements (ONNX attribute `align_corners`).
    Centers,
    /// Element indices, counted from 0.
    Elements,
}

/// Samples the image axes of `[n, .., c]` at the positions in the second operand, `[n, .., k]`: one
/// coordinate for each of the `k` image axes, the last axis first. The result is `[n, .., c]`, with
/// the second operand's axes in the middle.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GridSample {
    /// Interpolation between elements.
    pub mode: SampleMode,
    /// Values outside the image.
    pub outside: Outside,
    /// Unit of the coordinates.
    pub places: GridPlaces,
}

impl Operator for GridSample {
    fn name(&self) -> &'static str {
        "GridSample"
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        let operands = Operands::new(self, inputs, 2, 2)?;
        let image = operands.floats(0, "image", 3, usize::MAX)?;
        operands.element(1, "grid", super::operands::FLOATS)?;
        let grid = operands.rank(1, "grid", image.len(), image.len())?;
        let (axes, last) = (image.len() - 2, image.len() - 1);
        operands.size("images of the grid", image[0], grid[0])?;
        operands.size("coordinates of a place", axes, grid[last])?;
        let shape = [&grid[..last], &image[last..]].concat();
        if image.contains(&0) && !shape.contains(&0) {
            return Err(OpError::Shapes { op: self.name(), left: image.to_vec(), right: grid.to_vec() });
        }
        result(shape, operands.info(0).element)
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        let infos = infer_tensors(self, inputs)?;
        let shape = tensor(self, inputs, 0)?.shape();
        let (sizes, channels) = (&shape[1..shape.len() - 1], shape[shape.len() - 1]);
        let (image, grid) = (floats(self, inputs, 0, "image")?, floats(self, inputs, 1, "grid")?);
        let image_length = (sizes.iter().product::<usize>() * channels).max(1);
        let places = grid.len() / sizes.len() / shape[0].max(1);
        let mut data = vec![0.0; infos[0].shape.iter().product()];
        let pixels = data.chunks_mut(channels.max(1)).zip(grid.chunks(sizes.len()));
        for (index, (out, place)) in pixels.enumerate() {
            let image = &image[index / places * image_length..][..image_length];
            for (position, weight) in self.taps(sizes, place) {
                let pixel = &image[position * channels..][..channels];
                out.iter_mut().zip(pixel).for_each(|(out, x)| *out += weight * x);
            }
        }
        build_floats(self, &infos, data)
    }
}

impl GridSample {
    /// Returns the maximum number of elements that a sample over `axes` axes is computed from.
    pub(crate) fn most_taps(&self, axes: usize) -> u64 {
        let along: u64 = match self.mode {
            SampleMode::Nearest => 1,
            SampleMode::Linear => 2,
            SampleMode::Cubic => 4,
        };
        (0..axes).fold(1, |product, _| product.saturating_mul(along))
    }

    /// Returns the pixels of an image of `sizes` that a sample is computed from, and their weights.
    fn taps(&self, sizes: &[usize], place: &[f32]) -> Vec<(usize, f32)> {
        sizes.iter().zip(place.iter().rev()).fold(vec![(0, 1.0)], |taps, (&size, &coordinate)| {
            let along = self.along(size, coordinate);
            let join = |(index, weight)| along.iter().map(move |&(i, w)| (index * size + i, weight * w));
            taps.into_iter().flat_map(join).collect()
        })
    }

    /// Returns the elements along an axis that the sample at a coordinate is computed from, and
    /// their weights.
    fn along(&self, size: usize, coordinate: f32) -> Vec<(usize, f32)> {
        // NaN is treated as -1, as in PyTorch.
        let coordinate = if coordinate.is_nan() { -1.0 } else { coordinate };
        let length = size as f32;
        let (x, border) = match self.places {
            GridPlaces::Centers => ((coordinate + 1.0) / 2.0 * (length - 1.0), [0.0, length - 1.0]),
            GridPlaces::Edges => (((coordinate + 1.0) * length - 1.0) / 2.0, [-0.5, length - 0.5]),
            GridPlaces::Elements => (coordinate, [-0.5, length - 0.5]),
        };
        let x = if self.mode == SampleMode::Nearest { x.round_ties_even() } else { x };
        let x = match (self.outside, self.mode) {
            (Outside::Reflection, _) => reflect(x, border),
            (Outside::Border, SampleMode::Nearest | SampleMode::Linear) => x.clamp(0.0, length - 1.0),
            // Far outside, all taps are the border element or zero in any case. Near the border,
            // cubic weights use the unclamped position, as in PyTorch and ONNX Runtime.
            (Outside::Border | Outside::Zeros, _) => x.clamp(-4.0, length + 4.0),
        };
        let (low, slope) = (x.floor(), -0.75);
        let fraction = x - low;
        let taps: Vec<(f32, f32)> = match self.mode {
            SampleMode::Nearest => vec![(x, 1.0)],
            SampleMode::Linear => vec![(low, 1.0 - fraction), (low + 1.0, fraction)],
            SampleMode::Cubic => [-1.0, 0.0, 1.0, 2.0]
                .map(|step: f32| (low + step, cubic_weight(step - fraction, slope)))
                .to_vec(),
        };
        taps.into_iter().filter_map(|(x, weight)| Some((self.element(x, border, size)?, weight))).collect()
    }

    /// Returns the index of the element at an integer coordinate; `None` for a zero outside the
    /// image.
    fn element(&self, x: f32, border: [f32; 2], size: usize) -> Option<usize> {
        let last = size as f32 - 1.0;
        match self.outside {
            Outside::Zeros if !(0.0..=last).contains(&x) => None,
            Outside::Reflection => Some((reflect(x, border).max(0.0) as usize).min(size - 1)),
            Outside::Zeros | Outside::Border => Some((x.max(0.0) as usize).min(size - 1)),
        }
    }
}

/// Reflects a coordinate at the borders until it is between them.
fn reflect(x: f32, [low, high]: [f32; 2]) -> f32 {
    let range = high - low;
    if (low..=high).contains(&x) || range <= 0.0 {
        return x.clamp(low, high);
    }
    let beyond = if x < low { low - x } else { x - high };
    let turns = (beyond / range).floor();
    let rest = beyond - turns * range;
    // An even number of reflections returns from the border that was crossed.
    if (turns % 2.0 == 0.0) == (x < low) { low + rest } else { high - rest }
}
