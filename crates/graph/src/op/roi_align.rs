//! Regions of an image, each resampled to the same number of bins.

use npukit_numeric::{ElementType, Tensor};
use serde::{Deserialize, Serialize};

use super::indexing::{indices, position};
use super::operands::{Operands, build_floats, floats, infer_tensors, result, tensor};
use super::{OpError, Operator};
use crate::ir::{Value, ValueInfo};

/// Reduction of the samples in a bin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RoiMode {
    /// The mean of the samples.
    Average,
    /// The largest product of an element and its weight, over all samples, as in the standard's
    /// example.
    Max,
}

/// Cuts regions out of `[n, h, w, c]`, each resampled to `[size[0], size[1], c]`. The second
/// operand, `[k, 4]`, has the first and last columns and rows `x1, y1, x2, y2` of the regions. The
/// third, `[k]`, has the image index of each region.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoiAlign {
    /// Rows and columns of bins.
    pub size: [usize; 2],
    /// Number of samples of a bin along each axis; 0 for about one per element.
    pub sampling_ratio: usize,
    /// Factor from region coordinates to image coordinates.
    #[serde(with = "npukit_numeric::any_float")]
    pub spatial_scale: f32,
    /// Whether the centers of elements have half-integer coordinates.
    pub half_pixel: bool,
    /// Reduction of the samples in a bin.
    pub mode: RoiMode,
}

impl Operator for RoiAlign {
    fn name(&self) -> &'static str {
        "RoiAlign"
    }

    fn infer(&self, inputs: &[&Value]) -> Result<Vec<ValueInfo>, OpError> {
        let operands = Operands::new(self, inputs, 3, 3)?;
        let image = operands.floats(0, "image", 4, 4)?;
        let regions = operands.floats(1, "regions", 2, 2)?;
        operands.size("numbers of a region", 4, regions[1])?;
        operands.element(2, "indices of images", &[ElementType::I64, ElementType::I32])?;
        operands.same_shape(2, &regions[..1])?;
        if image[1] == 0 || image[2] == 0 || self.sampling_ratio > MAX_SAMPLES {
            let found = format!("{} for {image:?}", self.sampling_ratio);
            let legal = "an image with elements, and at most 256 samples";
            return Err(OpError::Attribute { op: self.name(), attribute: "sampling_ratio", found, legal });
        }
        result(vec![regions[0], self.size[0], self.size[1], image[3]], operands.info(0).element)
    }

    fn eval(&self, inputs: &[&Tensor]) -> Result<Vec<Tensor>, OpError> {
        let infos = infer_tensors(self, inputs)?;
        let &[images, height, width, channels] = tensor(self, inputs, 0)?.shape() else {
            return Ok(Vec::new());
        };
        let (data, regions) = (floats(self, inputs, 0, "image")?, floats(self, inputs, 1, "regions")?);
        let which = indices(tensor(self, inputs, 2)?);
        let mut out = vec![0.0; infos[0].shape.iter().product()];
        let length = self.size[0] * self.size[1] * channels;
        let each = out.chunks_mut(length.max(1)).zip(regions.chunks(4)).zip(which);
        for ((out, region), index) in each {
            let image = &data[position(self, 0, index, images)? * height * width * channels..];
            let rows = self.samples(0, [region[1], region[3]], height)?;
            let columns = self.samples(1, [region[0], region[2]], width)?;
            let bins = rows.iter().flat_map(|row| columns.iter().map(move |column| (row, column)));
            for (out, (rows, columns)) in out.chunks_mut(channels.max(1)).zip(bins) {
                for (channel, out) in out.iter_mut().enumerate() {
                    let element = |y: usize, x: usize| image[(y * width + x) * channels + channel];
                    *out = self.bin(rows, columns, element);
                }
            }
        }
        build_floats(self, &infos, out)
    }
}

/// Maximum number of samples of a bin along an axis.
const MAX_SAMPLES: usize = 256;

/// Two elements of an axis and their weights.
type Pair = [(usize, f32); 2];

/// Elements of a sample along an axis; `None` outside the image.
type Sample = Option<Pair>;

impl RoiAlign {
    /// Returns the samples of each bin along an axis of `size` elements, for a region between two
    /// coordinates.
    fn samples(&self, axis: usize, region: [f32; 2], size: usize) -> Result<Vec<Vec<Sample>>, OpError> {
        let offset = if self.half_pixel { 0.5 } else { 0.0 };
        let [start, end] = region.map(|end| end * self.spatial_scale - offset);
        let length = if self.half_pixel { end - start } else { (end - start).max(1.0) };
        let bin = length / self.size[axis] as f32;
        let count = if self.sampling_ratio > 0 { self.sampling_ratio } else { bin.ceil().max(0.0) as usize };
        if count > MAX_SAMPLES {
            let (attribute, legal) = ("region", "at most 256 elements for each bin");
            return Err(OpError::Attribute {
                op: self.name(),
                attribute,
                found: format!("{region:?}"),
                legal,
            });
        }
        let at = |index: usize, sample: usize| {
            start + index as f32 * bin + (sample as f32 + 0.5) * bin / count as f32
        };
        let bins = 0..self.size[axis];
        Ok(bins.map(|index| (0..count).map(|sample| linear(at(index, sample), size)).collect()).collect())
    }

    fn bin(&self, rows: &[Sample], columns: &[Sample], element: impl Fn(usize, usize) -> f32) -> f32 {
        let pairs = rows.iter().flat_map(|row| columns.iter().map(move |column| row.zip(*column)));
        let products = |(row, column): (Pair, Pair)| {
            row.into_iter().flat_map(move |(y, down)| column.map(|(x, right)| (y, x, down * right)))
        };
        match self.mode {
            RoiMode::Average => {
                let terms = pairs.flatten().flat_map(products);
                let sum = terms.fold(0.0, |sum, (y, x, weight)| sum + weight * element(y, x));
                sum / (rows.len() * columns.len()).max(1) as f32
            }
            RoiMode::Max => {
                let largest = |pair| match pair {
                    // A sample outside is 0.
                    None => 0.0,
                    Some(pair) => {
                        products(pair).map(|(y, x, w)| w * element(y, x)).fold(f32::NEG_INFINITY, f32::max)
                    }
                };
                pairs.map(largest).reduce(f32::max).unwrap_or(0.0) // Default: 0 without samples, as in the standard's example.
            }
        }
    }
}

/// Returns the two elements around a coordinate; the border element is used up to a distance of 1
/// beyond the border.
fn linear(x: f32, size: usize) -> Sample {
    if !(-1.0..=size as f32).contains(&x) {
        return None;
    }
    let x = x.clamp(0.0, (size - 1) as f32);
    let low = (x as usize).min(size - 1);
    let fraction = x - low as f32;
    Some([(low, 1.0 - fraction), ((low + 1).min(size - 1), fraction)])
}
