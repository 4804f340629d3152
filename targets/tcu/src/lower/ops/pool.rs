//! MaxPool and AveragePool on values in the accumulators.

use npukit_graph::op::{self, Window};

use super::activation::needs_register;
use crate::lower::hir::{Step, Windows};
use crate::lower::layers::{Builder, Chain, Reject};

/// The largest vector of each window; padding is left out.
pub fn max(builder: &mut Builder, chain: &mut Chain, i: usize, pool: &op::MaxPool) -> Result<bool, Reject> {
    needs_register(builder)?;
    let Some(windows) = windows(builder, chain, i, &pool.window)? else { return Ok(false) };
    let empty = (0..windows.len()).any(|w| windows.get(w).is_empty());
    if empty {
        return Err(Reject::new(
            "a window lies in the padding altogether",
            "make the padding smaller than the kernel",
        ));
    }
    chain.pixels = windows.len();
    chain.steps.push(Step::MaxPool(windows));
    Ok(true)
}

/// The sum of each window times one over its divisor.
pub fn average(
    builder: &mut Builder,
    chain: &mut Chain,
    i: usize,
    pool: &op::AveragePool,
) -> Result<bool, Reject> {
    needs_register(builder)?;
    let Some(windows) = windows(builder, chain, i, &pool.window)? else { return Ok(false) };
    let node = &builder.graph.nodes[i];
    let (input, output) = (builder.graph.shape(node.inputs[0]), builder.graph.shape(node.outputs[0]));
    let image = [input[1], input[2]];
    let divisor = |w: usize| pool.divisor([w / output[2] % output[1], w % output[2]], image);
    let scales = (0..windows.len()).map(|w| builder.objects.splat(1.0 / divisor(w) as f32)).collect();
    chain.pixels = windows.len();
    chain.steps.push(Step::AveragePool { windows, scales });
    Ok(true)
}

/// The pixels of each window. `None` when the grid is not an image that may be taken over: repacked,
/// already stored, or made by windows itself (windows of windows would keep too much at once).
fn windows(builder: &Builder, chain: &Chain, i: usize, window: &Window) -> Result<Option<Windows>, Reject> {
    let node = &builder.graph.nodes[i];
    let input = builder.graph.shape(node.inputs[0]);
    let output = builder.graph.shape(node.outputs[0]);
    if input.len() != 4 || input[3] != chain.channels || !may_take_windows(chain) {
        return Ok(None);
    }
    builder.require_uses(window.kernel.into_iter().chain(output[..3].iter().copied()))?;
    let along = |axis: usize, out: usize| {
        let span = window.span(axis, out, input[axis + 1]);
        (0..span.taps.len()).map(move |tap| span.first + tap * window.dilations[axis])
    };
    let mut windows = Windows::default();
    for image in 0..output[0] {
        for y in 0..output[1] {
            for x in 0..output[2] {
                let row = |y: usize| (image * input[1] + y) * input[2];
                windows.push(along(0, y).flat_map(|y| along(1, x).map(move |x| (row(y) + x) as u32)));
            }
        }
    }
    Ok(Some(windows))
}

/// Whether a chain's grid can give way to one made of windows of it.
pub fn may_take_windows(chain: &Chain) -> bool {
    let loaded = chain.steps.len() == 1;
    let windowed =
        |step: &Step| matches!(step, Step::MaxPool(_) | Step::AveragePool { .. } | Step::WeightedSum { .. });
    (loaded || !chain.saved) && !chain.steps.iter().any(windowed)
}
