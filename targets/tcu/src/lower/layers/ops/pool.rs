//! MaxPool and AveragePool on values in the accumulators. Windows that exceed the accumulators are
//! processed in memory, one vector of each at a time.

use npukit_graph::NodeId;
use npukit_graph::op::{self, Window};

use crate::isa::op::SimdOp;
use crate::lower::layers::hir::{ChannelOperand, Step, Windows};
use crate::lower::layers::ops::refusal::needs_register;
use crate::lower::layers::{Builder, Chain, Reject};
use crate::lower::memory::object::VecRef;

/// Appends a MaxPool to the chain: the maximum of each window, without padding. Returns `false` if
/// the grid cannot be windowed in place.
///
/// # Errors
///
/// Fails if it reads more vectors than a program may list.
pub fn max(builder: &mut Builder, chain: &mut Chain, id: NodeId, pool: &op::MaxPool) -> Result<bool, Reject> {
    needs_register(builder)?;
    let Some(windows) = windows(builder, chain, id, &pool.window)? else { return Ok(false) };
    let empty = (0..windows.len()).any(|w| windows.get(w).is_empty());
    if empty {
        return Err(Reject::new(
            "a window is completely in the padding",
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

/// Appends an AveragePool to the chain: the sum of each window times one over its divisor. Returns
/// `false` if the grid cannot be windowed in place.
///
/// # Errors
///
/// Fails if it reads more vectors than a program may list, or scales exceed DRAM1.
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

/// Returns the pixels of each window. Returns `None` if the grid cannot be windowed in place: it is
/// repacked, already stored, or itself made of windows. Windows of windows would need too many
/// accumulators.
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

/// Whether a single window with its result and its scale exceeds the accumulators.
pub fn exceed_accumulators(builder: &Builder, windows: &Windows) -> bool {
    windows.longest() as u64 + 2 > builder.config.accumulator_depth
}

/// Replacement for the missing vectors of windows that are smaller than the largest one.
#[derive(Clone, Copy, PartialEq)]
pub enum Absent {
    /// Zero, which does not change a sum.
    Zero,
    /// The window's first vector, which does not change a maximum.
    First,
}

/// Replaces a load of the image by a load of each window's first vector and one step per further
/// vector. Vectors are combined in window order, so that results round and saturate as in the
/// accumulators. Returns `false` if the chain has steps other than the load.
///
/// # Errors
///
/// Fails if it reads more vectors than a program may list.
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
        // Default: `Absent::Zero` pads a window with zeros.
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

/// Returns the step that multiplies each pixel by its scale.
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

/// Whether the grid of a chain can be replaced by windows of it. No earlier step may have saved it:
/// a tile computes only the pixels under its windows, which need not be all.
pub fn may_take_windows(chain: &Chain) -> bool {
    let settled = |step: &Step| step.windows().is_some() || matches!(step, Step::Save { .. });
    !chain.steps.iter().any(settled)
}
