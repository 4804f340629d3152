//! Reduce: windows of pixels on the SIMD unit; sums over channels as a product with ones.

use npukit_graph::NodeId;
use npukit_graph::op::{self, ReduceKind};
use npukit_graph::shape::indices;

use super::pool::{Absent, exceed_accumulators, may_take_windows, reduce_in_memory, scaling};
use super::rearrange::{gather, strides};
use super::{loaded, natural_view};
use crate::isa::op::SimdOp;
use crate::lower::layers::hir::{ChannelOperand, Operand, Step, Term, Windows};
use crate::lower::layers::ops::product::{self, Product};
use crate::lower::layers::ops::refusal::{needs_lookup, needs_register};
use crate::lower::layers::ops::steps::{formula, on_grid};
use crate::lower::layers::{Builder, Chain, Lowered, Reject};
use crate::lower::memory::object::{ObjectKind, VecRef};

/// Starts a chain for a reduction that includes the innermost axis; `None` for other reductions.
///
/// # Errors
///
/// Fails for reductions that are not composed of sums, products and maxima, or operands without a
/// view.
pub fn lower(builder: &mut Builder, id: NodeId, reduce: &op::Reduce) -> Result<Option<Lowered>, Reject> {
    needs_register(builder)?;
    operation(reduce.kind)?;
    let input = builder.graph.node(id).inputs[0];
    let axes = builder.graph.shape(input).len();
    if axes == 0 || !reduce.axes.contains(&(axes - 1)) {
        return Ok(None);
    }
    match reduce.kind {
        ReduceKind::Sum | ReduceKind::Mean => {
            sum_channels(builder, id, reduce).map(|chain| Some(Lowered::Chain(chain)))
        }
        _ => reduce_lanes(builder, id, reduce).map(|chain| Some(Lowered::Chain(chain))),
    }
}

/// Reduces pixels of the grid. Returns `false` if channels are reduced, or the grid must be stored
/// first.
///
/// # Errors
///
/// Fails for reductions that the SIMD unit cannot compute.
pub fn follow(
    builder: &mut Builder,
    chain: &mut Chain,
    id: NodeId,
    reduce: &op::Reduce,
) -> Result<bool, Reject> {
    needs_register(builder)?;
    operation(reduce.kind)?;
    let shape = builder.graph.shape(builder.graph.node(id).inputs[0]);
    let Some((&channels, outer)) = shape.split_last() else { return Ok(false) };
    if reduce.axes.contains(&outer.len()) || channels != chain.channels {
        return Ok(false);
    }
    let windows = windows(outer, &reduce.axes);
    reduce_windows(builder, chain, reduce.kind, windows)
}

/// Returns the operation that combines two elements.
fn operation(kind: ReduceKind) -> Result<SimdOp, Reject> {
    Ok(match kind {
        ReduceKind::Sum | ReduceKind::Mean | ReduceKind::L1 | ReduceKind::SumSquare => SimdOp::Add,
        ReduceKind::Prod => SimdOp::Multiply,
        ReduceKind::Max => SimdOp::Max,
        ReduceKind::Min => SimdOp::Min,
        ReduceKind::L2 => return Err(needs_lookup("square root, the last step of ReduceL2")),
        ReduceKind::LogSum | ReduceKind::LogSumExp => {
            return Err(needs_lookup("logarithm, the last step of this reduction"));
        }
    })
}

/// Returns, for each remaining pixel, the pixels that are reduced to it.
fn windows(shape: &[usize], axes: &[usize]) -> Windows {
    let stays = |axis: &usize| !axes.contains(axis);
    let strides = strides(shape);
    // Returns the offsets of all combinations of indices along the wanted axes.
    let offsets = |wanted: &dyn Fn(&usize) -> bool| -> Vec<usize> {
        let axes: Vec<usize> = (0..shape.len()).filter(wanted).collect();
        let sizes: Vec<usize> = axes.iter().map(|&axis| shape[axis]).collect();
        let offset =
            |element| indices(element, &sizes).zip(&axes).map(|(index, &axis)| index * strides[axis]).sum();
        (0..sizes.iter().product()).map(offset).collect()
    };
    let (remaining, reduced) = (offsets(&stays), offsets(&|axis| !stays(axis)));
    let mut windows = Windows::default();
    for first in remaining {
        windows.push(reduced.iter().map(|offset| (first + offset) as u32));
    }
    windows
}

/// Replaces the grid by one vector per window.
fn reduce_windows(
    builder: &mut Builder,
    chain: &mut Chain,
    kind: ReduceKind,
    windows: Windows,
) -> Result<bool, Reject> {
    if !may_take_windows(chain) {
        return Ok(false);
    }
    builder.require_uses([windows.longest(), windows.len()])?;
    let op = operation(kind)?;
    let scale = (kind == ReduceKind::Mean).then(|| builder.objects.splat(1.0 / windows.longest() as f32));
    let before = each(kind);
    if exceed_accumulators(builder, &windows) {
        if let Some(before) = before
            && !store(builder, chain, before)
        {
            return Ok(false);
        }
        let further = |vectors| match op {
            SimdOp::Add => Step::AddVectors(vectors),
            op => Step::Binary { op, vectors, swapped: false },
        };
        let followed = reduce_in_memory(builder, chain, &windows, Absent::Zero, further)?;
        chain.steps.extend(scale.filter(|_| followed).map(|scale| scaling(&[scale], 1)));
        return Ok(followed);
    }
    chain.steps.extend(before);
    chain.pixels = windows.len();
    chain.steps.push(match scale {
        Some(scale) => Step::AveragePool { scales: vec![scale; windows.len()], windows },
        None => Step::Reduce { op, windows },
    });
    Ok(true)
}

/// Applies a step to a loaded grid and stores the result, which the chain then loads. Returns
/// `false` if the chain has steps other than the load.
fn store(builder: &mut Builder, chain: &mut Chain, step: Step) -> bool {
    let [Step::Load(_)] = chain.steps.as_slice() else { return false };
    let (pixels, channels) = (chain.pixels, chain.channels);
    let blocks = channels.div_ceil(builder.array_size()).max(1);
    let name = &builder.graph.node(chain.nodes[0]).name;
    let object = builder.objects.add(format!("{name}/each"), ObjectKind::Variable, pixels * blocks);
    let mut steps = std::mem::take(&mut chain.steps);
    steps.extend([step, Step::Save { object, pixel_major: true, pixels: None }]);
    let Chain { nodes, value, .. } = &*chain;
    let layer = Chain { nodes: nodes.clone(), value: *value, pixels, channels, macs: 0, steps, saved: true };
    builder.push_layer(layer);
    let vectors = (0..(pixels * blocks) as u32).map(|index| VecRef { object, index });
    chain.steps = vec![Step::Load(vectors.collect())];
    true
}

/// Returns the step applied to each element before the reduction.
fn each(kind: ReduceKind) -> Option<Step> {
    match kind {
        ReduceKind::L1 => {
            Some(Step::ChannelWise { op: SimdOp::Abs, operand: ChannelOperand::Zero, swapped: false })
        }
        ReduceKind::SumSquare => Some(formula(Operand::Grid, [on_grid(SimdOp::Multiply)])),
        _ => None,
    }
}

/// Lowers a sum over channels as one product with ones per vector of a group. Each sum has a single
/// channel.
fn sum_channels(builder: &mut Builder, id: NodeId, reduce: &op::Reduce) -> Result<Chain, Reject> {
    let node = builder.graph.node(id);
    let view = natural_view(builder, id, node.inputs[0])?;
    let (n, blocks, channels) = (builder.array_size(), view.blocks(builder.array_size()), view.channels);
    let windows = windows(&view.shape[..view.shape.len() - 1], &reduce.axes);
    let (pixels, longest) = (windows.len(), windows.longest());
    builder.require_uses([longest, blocks, pixels])?;
    let input = |term: usize, pixel: usize| {
        view.vectors[windows.get(pixel)[term / blocks] as usize * blocks + term % blocks]
    };
    let terms =
        (0..longest * blocks).map(|term| Term { inputs: (0..pixels).map(|p| input(term, p)).collect() });
    let product = Product::of_selections(format!("{}/ones", node.name), terms.collect(), 1);
    let [weight, scale] = match reduce.kind {
        ReduceKind::Mean => mean_factors(longest * channels, builder.config.data_type.format().step()),
        _ => [1.0, 1.0],
    };
    let one = |term: usize, lane: usize, _| {
        if term % blocks * n + lane < channels { weight } else { 0.0 }
    };
    let mut steps = vec![product::step(builder, &product, one)?];
    if reduce.kind == ReduceKind::Mean {
        let scale = builder.objects.splat(scale);
        steps.push(scaling(&[scale], 1));
    }
    let macs = (pixels * longest * channels) as u64;
    Ok(Chain { nodes: vec![id], value: node.outputs[0], pixels, channels: 1, macs, steps, saved: false })
}

/// Returns two factors for a mean over `count` elements: one for the elements before the sum, one
/// for the sum. In a fixed-point format `1 / count` has few significant bits, and the sum can
/// overflow. Two factors near its square root are more precise and keep sums small.
pub fn mean_factors(count: usize, step: Option<f64>) -> [f32; 2] {
    let whole = (count as f64).recip();
    let Some(step) = step.filter(|_| count > FEW) else { return [1.0, whole as f32] };
    let root = (whole.sqrt() / step).round().max(1.0) as u32;
    let pairs = (root.div_ceil(2)..=2 * root).map(|steps| {
        let weight = f64::from(steps) * step;
        [weight, (whole / weight / step).round().max(1.0) * step]
    });
    let off = |[weight, scale]: &[f64; 2]| (weight * scale / whole - 1.0).abs();
    // Default: the square root itself is always a candidate.
    pairs.min_by(|a, b| off(a).total_cmp(&off(b))).unwrap_or([1.0, whole]).map(|factor| factor as f32)
}

/// Number of elements up to which they are added unscaled.
const FEW: usize = 16;

/// Transposes the tensor so that the axes to be reduced become pixels, then reduces the pixels.
fn reduce_lanes(builder: &mut Builder, id: NodeId, reduce: &op::Reduce) -> Result<Chain, Reject> {
    let node = builder.graph.node(id);
    let view = builder.view(node.inputs[0])?;
    let stays = (0..view.shape.len()).filter(|axis| !reduce.axes.contains(axis));
    let order: Vec<usize> = reduce.axes.iter().copied().chain(stays).collect();
    let strides = strides(&view.shape);
    let mut shape: Vec<usize> = order.iter().map(|&axis| view.shape[axis]).collect();
    if reduce.axes.len() == view.shape.len() {
        // If no axis remains, the result has one channel.
        shape.push(1);
    }
    let turned = gather(builder, id, &shape, |element| {
        Some((&view, indices(element, &shape).zip(&order).map(|(index, &axis)| index * strides[axis]).sum()))
    })?;
    let mut chain = loaded(builder, id, node.inputs[0], turned);
    let first: Vec<usize> = (0..reduce.axes.len()).collect();
    let windows = windows(&shape[..shape.len() - 1], &first);
    if !reduce_windows(builder, &mut chain, reduce.kind, windows)? {
        return Err(Reject::new(
            "its windows do not fit in the accumulators",
            "reduce one axis after another",
        ));
    }
    (chain.value, chain.saved) = (node.outputs[0], false);
    Ok(chain)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEP: f64 = 1.0 / 256.0;

    #[test]
    fn means_over_many_have_two_factors_of_the_format() {
        for count in FEW + 1..=2048 {
            let factors = mean_factors(count, Some(STEP)).map(f64::from);
            let steps = factors.map(|factor| factor / STEP);
            assert!(steps.iter().all(|steps| steps.fract() == 0.0 && *steps >= 1.0), "{count}: {factors:?}");
            let off = (factors[0] * factors[1] * count as f64 - 1.0).abs();
            // With a single factor for 192, the result would be wrong by a quarter.
            assert!(off < 0.04, "{count}: {off}");
            assert!(factors[0] * (count as f64) < 2.5 * (count as f64).sqrt(), "{count}: sums stay small");
        }
    }

    #[test]
    fn means_over_few_and_of_floats_have_one() {
        assert_eq!(mean_factors(FEW, Some(STEP)), [1.0, 1.0 / 16.0]);
        assert_eq!(mean_factors(192, None), [1.0, 1.0 / 192.0]);
    }
}
