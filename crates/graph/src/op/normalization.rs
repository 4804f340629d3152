//! Helpers of operators that normalize groups of elements to mean 0 and variance 1.

use npukit_numeric::Tensor;

use super::operands::{Operands, build_floats, floats, infer_tensors};
use super::{OpError, Operator};
use crate::ir::{Value, ValueInfo};

/// Returns mean and variance of a group, summed in order, in `f32`.
pub(super) fn moments(values: impl Iterator<Item = f32> + Clone) -> [f32; 2] {
    let count = values.clone().count() as f32;
    let mean = values.clone().fold(0.0, |sum, x| sum + x) / count;
    let squares = values.fold(0.0, |sum, x| sum + (x - mean) * (x - mean));
    [mean, squares / count]
}

/// Checks the operands of an image normalization, `x [n, .., c]`, `scale [c]` and `bias [c]`;
/// `check` checks the number of channels.
pub(super) fn infer_images(
    op: &dyn Operator,
    inputs: &[&Value],
    check: impl Fn(usize) -> Result<(), OpError>,
) -> Result<Vec<ValueInfo>, OpError> {
    let operands = Operands::new(op, inputs, 3, 3)?;
    let shape = operands.floats(0, "operand", 2, usize::MAX)?;
    let channels = shape[shape.len() - 1];
    check(channels)?;
    operands.vector(1, "scale", "length of the scale", channels)?;
    operands.vector(2, "bias", "length of the bias", channels)?;
    Ok(vec![operands.info(0).clone()])
}

/// Computes an image normalization; `groups` returns the number of groups for a number of channels.
pub(super) fn eval_images(
    op: &dyn Operator,
    inputs: &[&Tensor],
    groups: impl Fn(usize) -> usize,
    epsilon: f32,
) -> Result<Vec<Tensor>, OpError> {
    let infos = infer_tensors(op, inputs)?;
    let shape = &infos[0].shape;
    let mut data = floats(op, inputs, 0, "operand")?.to_vec();
    let channels = shape[shape.len() - 1];
    let pixels = shape[1..shape.len() - 1].iter().product();
    let normalization = Groups {
        pixels,
        channels,
        groups: groups(channels),
        epsilon,
        scale: floats(op, inputs, 1, "scale")?,
        bias: floats(op, inputs, 2, "bias")?,
    };
    normalization.apply(&mut data);
    build_floats(op, &infos, data)
}

/// Normalization of the groups of neighboring channels of each image, over all positions.
struct Groups<'a> {
    /// Positions of an image.
    pixels: usize,
    channels: usize,
    groups: usize,
    epsilon: f32,
    /// Factor and addend of each channel.
    scale: &'a [f32],
    bias: &'a [f32],
}

impl Groups<'_> {
    /// Normalizes `[n, .., c]` data.
    fn apply(&self, data: &mut [f32]) {
        let &Self { pixels, channels, groups, epsilon, scale, bias } = self;
        let width = channels / groups.max(1);
        for image in data.chunks_exact_mut((pixels * channels).max(1)) {
            for group in 0..groups {
                let part = group * width..(group + 1) * width;
                let rows = image.chunks_exact(channels);
                let [mean, variance] = moments(rows.flat_map(|row| row[part.clone()].iter().copied()));
                let deviation = (variance + epsilon).sqrt();
                for row in image.chunks_exact_mut(channels) {
                    for c in part.clone() {
                        row[c] = (row[c] - mean) / deviation * scale[c] + bias[c];
                    }
                }
            }
        }
    }
}
