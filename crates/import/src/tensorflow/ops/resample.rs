//! ResizeBicubic and ResizeArea. Each row and column of the result is a weighted sum of the
//! image's, with constant weights: a matrix product along each axis.
//!
//! Source: TensorFlow's kernels `resize_bicubic_op.cc` and `resize_area_op.cc`. ResizeBicubic
//! evaluates the weights at multiples of 1/1024 of an element. With half-pixel centers it uses
//! another slope, and elements outside the image have no weight.

use npukit_graph::ValueId;
use npukit_graph::op::{MatMul, Reshape};
use npukit_numeric::{ElementType, TensorData};

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;
use super::super::image::require_rank_4;
use super::resize::size;
use crate::shape::tensor;

/// Number of weights per element distance.
const STEPS: f32 = 1024.0;

/// An axis of `from` elements that is resampled to `to`.
struct Axis {
    from: usize,
    to: usize,
    /// Elements of the operand per element of the result.
    scale: f32,
    half_pixel: bool,
}

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let x = context.input(0, "images")?;
    require_rank_4(context, x, "images")?;
    let size = size(context)?;
    let aligned = context.attributes.flag("align_corners", false)?;
    let half_pixel = context.attributes.flag("half_pixel_centers", false)?;
    if aligned && half_pixel {
        return Err(unsupported("half_pixel_centers", true, "false with align_corners"));
    }
    let x = context.cast(x, ElementType::F32)?;
    let &[n, rows, columns, channels] = context.shape(x) else { return Ok(vec![x]) };
    let axis = |from: usize, to: usize| Axis {
        from,
        to,
        scale: match aligned && to > 1 {
            true => from.saturating_sub(1) as f32 / (to - 1) as f32,
            false => from as f32 / to as f32,
        },
        half_pixel,
    };
    let down = matrix(context, &axis(rows, size[0]))?;
    let right = matrix(context, &axis(columns, size[1]))?;
    let lines = context.reshaped("lines", x, vec![n, rows, columns * channels])?;
    let lines = context.helper("rows", MatMul, vec![down, lines])?;
    let lines =
        context.helper("pixels", Reshape { shape: vec![n * size[0], columns, channels] }, vec![lines])?;
    let y = context.helper("columns", MatMul, vec![right, lines])?;
    Ok(vec![context.emit(Reshape { shape: vec![n, size[0], size[1], channels] }, vec![y])?])
}

/// Returns the weights of an axis, `[to, from]`.
fn matrix(context: &mut Context<'_>, axis: &Axis) -> Result<ValueId, Reason> {
    if axis.from == 0 {
        return Err(unsupported("images", axis.from, "rows and columns of one element at least"));
    }
    context.reserve(&[axis.to, axis.from])?;
    let mut weights = vec![0.0; axis.to * axis.from];
    for (place, row) in weights.chunks_mut(axis.from).enumerate() {
        match context.op() {
            "ResizeBicubic" => axis.cubic(place, row),
            _ => axis.area(place, row),
        }
    }
    let weights = tensor(vec![axis.to, axis.from], TensorData::F32(weights))?;
    Ok(context.make_constant(weights))
}

impl Axis {
    /// Computes the weights of the four elements around the position.
    fn cubic(&self, place: usize, row: &mut [f32]) {
        let at = match self.half_pixel {
            true => (place as f32 + 0.5) * self.scale - 0.5,
            false => place as f32 * self.scale,
        };
        let first = at.floor();
        let offset = ((at - first) * STEPS).round_ties_even() / STEPS;
        let slope = if self.half_pixel { -0.5 } else { -0.75 };
        let near = |x: f32| ((slope + 2.0) * x - (slope + 3.0)) * x * x + 1.0;
        let far = |x: f32| ((slope * x - 5.0 * slope) * x + 8.0 * slope) * x - 4.0 * slope;
        let weights = [far(1.0 + offset), near(offset), near(1.0 - offset), far(2.0 - offset)];
        let last = row.len() as i64 - 1;
        for (index, weight) in weights.into_iter().enumerate() {
            let element = first as i64 - 1 + index as i64;
            let bound = element.clamp(0, last);
            if bound == element || !self.half_pixel {
                row[bound as usize] += weight;
            }
        }
        let sum: f32 = row.iter().sum();
        if self.half_pixel && sum.abs() >= 1000.0 * f32::MIN_POSITIVE {
            row.iter_mut().for_each(|weight| *weight /= sum);
        }
    }

    /// Share of each element that the position covers.
    fn area(&self, place: usize, row: &mut [f32]) {
        let (begin, end) = (place as f32 * self.scale, (place + 1) as f32 * self.scale);
        let last = row.len() as i64 - 1;
        for element in begin.floor() as i64..end.ceil() as i64 {
            let (low, high) = (element as f32, element as f32 + 1.0);
            let covered = match (low < begin, high > end) {
                (true, true) => self.scale,
                (true, false) => high - begin,
                (false, true) => end - low,
                (false, false) => 1.0,
            };
            row[element.clamp(0, last) as usize] += covered / self.scale;
        }
    }
}
