//! Resize: nearest takes vectors again; linear is a weighted sum of the corner vectors.

use npukit_graph::op::{self, ResizeMode, Sample};

use super::activation::needs_register;
use super::pool::may_take_windows;
use super::rearrange;
use crate::lower::hir::{Step, Windows};
use crate::lower::layers::{Builder, Chain, Lowered, Reject};

/// Whether the samples are elements.
pub fn is_nearest(resize: &op::Resize) -> bool {
    matches!(resize.mode, ResizeMode::Nearest(_))
}

/// Takes the nearest pixel's vectors.
pub fn nearest(builder: &mut Builder, i: usize, resize: &op::Resize) -> Result<Lowered, Reject> {
    let node = &builder.graph.nodes[i];
    let view = builder.view(node.inputs[0])?.clone();
    let shape = builder.graph.shape(node.outputs[0]).to_vec();
    let [rows, columns] = [0, 1].map(|axis| resize.samples(axis, view.shape[axis + 1]));
    let (h, w, channels) = (view.shape[1], view.shape[2], view.shape[3]);
    let resized = rearrange::gather(builder, i, &shape, |element| {
        let (pixel, channel) = (element / channels, element % channels);
        let (x, y, image) = (pixel % shape[2], pixel / shape[2] % shape[1], pixel / (shape[1] * shape[2]));
        Some((&view, ((image * h + rows[y].low) * w + columns[x].low) * channels + channel))
    })?;
    builder.set_view(node.outputs[0], resized);
    Ok(Lowered::Views)
}

/// Sums the four corners, each times the product of its two fractions (rounded once).
pub fn linear(
    builder: &mut Builder,
    chain: &mut Chain,
    i: usize,
    resize: &op::Resize,
) -> Result<bool, Reject> {
    needs_register(builder)?;
    let node = &builder.graph.nodes[i];
    let input = builder.graph.shape(node.inputs[0]);
    let output = builder.graph.shape(node.outputs[0]);
    if input[3] != chain.channels || !may_take_windows(chain) {
        return Ok(false);
    }
    builder.require_uses([4].into_iter().chain(output[..3].iter().copied()))?;
    let [rows, columns] =
        [0, 1].map(|axis| resize.samples(axis, input[axis + 1]).into_iter().map(ends).collect::<Vec<_>>());
    let mut windows = Windows::default();
    let mut weights = Vec::new();
    for image in 0..output[0] {
        for &row in &rows {
            for &column in &columns {
                let corners = corners(row, column);
                windows.push(corners.iter().map(|&(y, x, _)| ((image * input[1] + y) * input[2] + x) as u32));
                weights.extend(corners.iter().map(|&(_, _, weight)| builder.objects.splat(weight)));
            }
        }
    }
    chain.pixels = windows.len();
    chain.steps.push(Step::WeightedSum { windows, weights });
    Ok(true)
}

/// Row, column and weight of the corners that count: at least one, for the weights sum to one.
fn corners(row: [(usize, f32); 2], column: [(usize, f32); 2]) -> Vec<(usize, usize, f32)> {
    let all = column.iter().flat_map(|&(x, wx)| row.iter().map(move |&(y, wy)| (y, x, wy * wx)));
    all.filter(|&(_, _, weight)| weight != 0.0).collect()
}

/// Both ends of a sample with their weights.
fn ends(sample: Sample) -> [(usize, f32); 2] {
    [(sample.low, 1.0 - sample.fraction), (sample.high, sample.fraction)]
}
