//! MaxPool and AveragePool on values in the accumulators; windows that are larger than the
//! accumulators are gone through in memory, one vector of each at a time.

use npukit_graph::NodeId;
use npukit_graph::op::{self, Window};

use crate::isa::op::SimdOp;
use crate::lower::layers::hir::{ChannelOperand, Step, Windows};
use crate::lower::layers::ops::refusal::needs_register;
use crate::lower::layers::{Builder, Chain, Reject};
use crate::lower::memory::object::VecRef;

/// The largest vector of each window; padding is left out.
///
/// # Errors
///
/// More vectors than a program may list.
pub fn max(builder: &mut Builder, chain: &mut Chain, id: NodeId, pool: &op::MaxPool) -> Result<bool, Reject> {
    needs_register(builder)?;
    let Some(windows) = windows(builder, chain, id, &pool.window)? else { return Ok(false) };
    let empty = (0..windows.len()).any(|w| windows.get(w).is_empty());
    if empty {
        return Err(Reject::new(
            "a window lies in the padding altogether",
            "make the padding smaller than the kernel",
        ));
    }
    if exceed_accumulators(builder, &windows) {
        let larger = |vectors| Step::Binary { op: SimdOp::Max, vectors, swapped: false };
        return reduce_in_memory(builder, chain, &windows, Absent::First, larger);
    }
    chain.pixels = windows.len();
    chain.steps.push(Step::Reduce { op: SimdOp::Max, windows });
    Ok(true)
}

/// The sum of each window times one over its divisor.
///
/// # Errors
///
/// More vectors than a program may list, or scales that DRAM1 does not hold.
pub fn average(
    builder: &mut Builder,
    chain: &mut Chain,
    id: NodeId,
    pool: &op::AveragePool,
) -> Result<bool, Reject> {
    needs_register(builder)?;
    let Some(windows) = windows(builder, chain, id, &pool.window)? else { return Ok(false) };
    let node = builder.graph.node(id);
    let (input, output) = (builder.graph.shape(node.inputs[0]), builder.graph.shape(node.outputs[0]));
    let image = [input[1], input[2]];
    let divisor = |w: usize| pool.divisor([w / output[2] % output[1], w % output[2]], image);
    let scales: Vec<VecRef> =
        (0..windows.len()).map(|w| builder.objects.splat(1.0 / divisor(w) as f32)).collect();
    if exceed_accumulators(builder, &windows) {
        let followed = reduce_in_memory(builder, chain, &windows, Absent::Zero, Step::AddVectors)?;
        if followed {
            chain.steps.push(scaling(&scales, chain.channels.div_ceil(builder.array_size())));
        }
        return Ok(followed);
    }
    chain.pixels = windows.len();
    chain.steps.push(Step::AveragePool { windows, scales });
    Ok(true)
}

/// The pixels of each window. `None` when the grid is not an image that may be taken over: repacked,
/// already stored, or made by windows itself (windows of windows would keep too much at once).
fn windows(builder: &Builder, chain: &Chain, id: NodeId, window: &Window) -> Result<Option<Windows>, Reject> {
    let node = builder.graph.node(id);
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

/// Whether not even one window, its result and its scale fit the accumulators.
pub fn exceed_accumulators(builder: &Builder, windows: &Windows) -> bool {
    windows.longest() as u64 + 2 > builder.config.accumulator_depth
}

/// What stands for the vectors that a window has fewer than the largest one.
#[derive(Clone, Copy, PartialEq)]
pub enum Absent {
    /// Zero, which changes no sum.
    Zero,
    /// The window's first vector, which changes no maximum.
    First,
}

/// Replaces a load of the image by a load of each window's first vector, to which a step for each
/// further vector adds that. In the order of the window: results round and saturate as they would in
/// the accumulators. `false` when the chain holds more than the load.
///
/// # Errors
///
/// More vectors than a program may list.
pub fn reduce_in_memory(
    builder: &mut Builder,
    chain: &mut Chain,
    windows: &Windows,
    absent: Absent,
    step: impl Fn(Vec<VecRef>) -> Step,
) -> Result<bool, Reject> {
    let [Step::Load(image)] = chain.steps.as_slice() else { return Ok(false) };
    let blocks = chain.channels.div_ceil(builder.array_size());
    builder.require_uses([windows.longest(), windows.len(), blocks])?;
    let entry = |k: usize, w: usize, block: usize| {
        let window = windows.get(w);
        let pixel = window.get(k).or(window.first().filter(|_| absent == Absent::First));
        // Default: `absent` says that zeros stand for what is not there.
        pixel.map_or(VecRef::ZERO, |&pixel| image[pixel as usize * blocks + block])
    };
    let pairs = || (0..windows.len()).flat_map(|w| (0..blocks).map(move |block| (w, block)));
    let all = |k: usize| pairs().map(|(w, block)| entry(k, w, block)).collect::<Vec<VecRef>>();
    let further: Vec<Step> = (1..windows.longest()).map(|k| step(all(k))).collect();
    let first = builder.stored(all(0));
    chain.steps = std::iter::once(Step::Load(first)).chain(further).collect();
    chain.pixels = windows.len();
    Ok(true)
}

/// Multiplies each pixel by its scale.
pub fn scaling(scales: &[VecRef], blocks: usize) -> Step {
    let op = SimdOp::Multiply;
    match scales {
        [first, rest @ ..] if rest.iter().all(|scale| scale == first) => {
            Step::ChannelWise { op, operand: ChannelOperand::Blocks(vec![*first]), swapped: false }
        }
        _ => {
            let vectors = scales.iter().flat_map(|&scale| std::iter::repeat_n(scale, blocks)).collect();
            Step::Binary { op, vectors, swapped: false }
        }
    }
}

/// Whether a chain's grid can give way to one made of windows of it. Nothing before may be saved: a
/// tile only makes the pixels that its windows have, which need not be all.
pub fn may_take_windows(chain: &Chain) -> bool {
    let settled = |step: &Step| step.windows().is_some() || matches!(step, Step::Save { .. });
    !chain.steps.iter().any(settled)
}
