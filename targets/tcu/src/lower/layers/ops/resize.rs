//! Resize: nearest mode repeats vectors; linear mode is a weighted sum of the corner vectors.

use npukit_graph::NodeId;
use npukit_graph::op::{self, ResizeMode, Sample};

use super::pool::may_take_windows;
use super::rearrange;
use crate::lower::layers::hir::{Step, WeightedSum, Windows};
use crate::lower::layers::ops::refusal::needs_register;
use crate::lower::layers::{Builder, Chain, Lowered, Reject};
use crate::lower::memory::object::VecRef;

/// Whether every sample is a single element of the operand.
pub fn is_nearest(resize: &op::Resize) -> bool {
    matches!(resize.mode, ResizeMode::Nearest(_))
}

/// Lowers nearest mode: takes the vectors of the nearest pixel.
///
/// # Errors
///
/// Fails for an operand without a view.
pub fn nearest(builder: &mut Builder, id: NodeId, resize: &op::Resize) -> Result<Lowered, Reject> {
    let node = builder.graph.node(id);
    let view = builder.view(node.inputs[0])?;
    let shape = builder.graph.shape(node.outputs[0]).to_vec();
    let [rows, columns] = [0, 1].map(|axis| resize.samples(axis, view.shape[axis + 1]));
    let (h, w, channels) = (view.shape[1], view.shape[2], view.shape[3]);
    if resize.extrapolation() != 0.0 {
        stays_inside([&rows, &columns])?;
    }
    let resized = rearrange::gather(builder, id, &shape, |element| {
        let (pixel, channel) = (element / channels, element % channels);
        let (x, y, image) = (pixel % shape[2], pixel / shape[2] % shape[1], pixel / (shape[1] * shape[2]));
        let (&(row, _), &(column, _)) = rows[y].taps.first().zip(columns[x].taps.first())?;
        Some((&view, ((image * h + row) * w + column) * channels + channel))
    })?;
    builder.fusion.set_view(node.outputs[0], resized);
    Ok(Lowered::Views)
}

/// Lowers linear mode: sums the corners, each times the product of its two weights (rounded once).
///
/// # Errors
///
/// Fails on an instance without a SIMD register, for samples outside the image, or for too many
/// vectors.
pub fn linear(
    builder: &mut Builder,
    chain: &mut Chain,
    id: NodeId,
    resize: &op::Resize,
) -> Result<bool, Reject> {
    needs_register(builder)?;
    let node = builder.graph.node(id);
    let input = builder.graph.shape(node.inputs[0]);
    let output = builder.graph.shape(node.outputs[0]);
    if input[3] != chain.channels || !may_take_windows(chain) {
        return Ok(false);
    }
    let [rows, columns] = [0, 1].map(|axis| resize.samples(axis, input[axis + 1]));
    if resize.extrapolation() != 0.0 {
        stays_inside([&rows, &columns])?;
    }
    let most = [&rows, &columns].map(|samples| samples.iter().map(|sample| sample.taps.len()).max());
    // Default: an axis without samples has no taps.
    let most = most.into_iter().map(|taps| taps.unwrap_or_default());
    builder.require_uses(most.chain(output[..3].iter().copied()))?;
    let mut windows = Windows::default();
    let mut met = Vec::new();
    for image in 0..output[0] {
        for row in &rows {
            for column in &columns {
                let corners = corners(row, column);
                windows.push(corners.iter().map(|&(y, x, _)| ((image * input[1] + y) * input[2] + x) as u32));
                met.extend(corners.iter().map(|&(_, _, weight)| builder.objects.splat(weight)));
            }
        }
    }
    chain.pixels = windows.len();
    chain.steps.push(Step::WeightedSum(weighted_sum(windows, &met)));
    Ok(true)
}

/// Returns the weighted sum of windows. Their vectors are multiplied by the weights `met`, each
/// equal in all lanes.
pub fn weighted_sum(windows: Windows, met: &[VecRef]) -> WeightedSum {
    let mut weights = met.to_vec();
    weights.sort_unstable();
    weights.dedup();
    let which = met.iter().map(|weight| weights.partition_point(|other| other < weight) as u32).collect();
    let weights = weights.into_iter().map(|weight| vec![weight]).collect();
    WeightedSum { windows, which, weights, bias: Vec::new() }
}

/// Returns row, column and weight of each corner.
fn corners(row: &Sample, column: &Sample) -> Vec<(usize, usize, f32)> {
    let down = |&(x, wx): &(usize, f32)| row.taps.iter().map(move |&(y, wy)| (y, x, wy * wx));
    column.taps.iter().flat_map(down).collect()
}

/// Refuses samples outside the image, where Resize uses an extrapolation value.
fn stays_inside(samples: [&[Sample]; 2]) -> Result<(), Reject> {
    if samples.into_iter().flatten().all(|sample| !sample.taps.is_empty()) {
        return Ok(());
    }
    Err(Reject::new(
        "it resamples a region that extends beyond the image",
        "crop within the image, or extrapolate by 0",
    ))
}
