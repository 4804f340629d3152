//! Add, Sub, Mul, Max and Min of a value in the accumulators with a constant or a value in memory,
//! and Div by a constant.

use npukit_graph::op::{self, BinaryKind};
use npukit_graph::{NodeId, ValueId};

use super::{loaded, rearrange};
use crate::isa::op::SimdOp;
use crate::lower::layers::hir::{ChannelOperand, Operand, Step};
use crate::lower::layers::ops::broadcast::broadcast;
use crate::lower::layers::ops::product::per_channel;
use crate::lower::layers::ops::refusal::{needs_lookup, needs_register};
use crate::lower::layers::{Builder, Chain, Reject, no_floats};
use crate::lower::memory::object::VecRef;
use crate::lower::memory::view::View;

/// Operand that is not in the accumulators.
pub enum Other {
    /// One vector per block, or one for all blocks.
    Blocks(Vec<VecRef>),
    /// One vector per vector of the grid.
    Vectors(Vec<VecRef>),
}

impl From<Other> for Operand {
    fn from(other: Other) -> Self {
        match other {
            Other::Blocks(vectors) => Self::Blocks(vectors),
            Other::Vectors(vectors) => Self::Vectors(vectors),
        }
    }
}

/// Combines the grid with the node's other operand.
///
/// # Errors
///
/// Fails for an operator that the SIMD unit does not have, or an operand that cannot be broadcast.
pub fn follow(
    builder: &mut Builder,
    chain: &mut Chain,
    id: NodeId,
    binary: &op::Binary,
) -> Result<bool, Reject> {
    let node = builder.graph.node(id);
    if builder.graph.shape(chain.value) != builder.graph.shape(node.outputs[0]) {
        return Ok(false);
    }
    if builder.absorbed.contains(&id) {
        return Ok(true);
    }
    combine(builder, chain, id, binary)
}

/// Lowers a node whose operands are both smaller than its result: one is broadcast when it is
/// loaded.
///
/// # Errors
///
/// Fails like [`follow`], or for an operand without a view.
pub fn lower(builder: &mut Builder, id: NodeId, binary: &op::Binary) -> Result<Option<Chain>, Reject> {
    let node = builder.graph.node(id);
    let value = node.inputs.iter().copied().find(|&value| builder.graph.constant(value).is_none());
    // Default: if both operands are constants, the first is loaded.
    let value = value.unwrap_or(node.inputs[0]);
    let view = builder.view(value)?;
    let shape = builder.graph.shape(node.outputs[0]).to_vec();
    let wide = rearrange::expand(builder, id, &view, &shape)?;
    let mut chain = loaded(builder, id, value, wide);
    Ok(combine(builder, &mut chain, id, binary)?.then_some(chain))
}

fn combine(
    builder: &mut Builder,
    chain: &mut Chain,
    id: NodeId,
    binary: &op::Binary,
) -> Result<bool, Reject> {
    let op = operation(builder, id, binary.kind)?;
    needs_register(builder)?;
    let node = builder.graph.node(id);
    let swapped = node.inputs[0] != chain.value;
    let value = node.inputs[usize::from(!swapped)];
    let reciprocal = binary.kind == BinaryKind::Div;
    let Some(other) = other(builder, chain, id, value, reciprocal)? else { return Ok(false) };
    chain.steps.push(match other {
        Other::Blocks(vectors) => Step::ChannelWise { op, operand: ChannelOperand::Blocks(vectors), swapped },
        Other::Vectors(vectors) if op == SimdOp::Add => Step::AddVectors(vectors),
        Other::Vectors(vectors) => Step::Binary { op, vectors: builder.stored(vectors), swapped },
    });
    Ok(true)
}

/// Returns the SIMD operation; a division by a constant multiplies by its reciprocal.
fn operation(builder: &Builder, id: NodeId, kind: BinaryKind) -> Result<SimdOp, Reject> {
    let divisor = builder.graph.node(id).inputs[1];
    Ok(match kind {
        BinaryKind::Add => SimdOp::Add,
        BinaryKind::Sub => SimdOp::Subtract,
        BinaryKind::Mul => SimdOp::Multiply,
        BinaryKind::Max => SimdOp::Max,
        BinaryKind::Min => SimdOp::Min,
        BinaryKind::Div if builder.graph.constant(divisor).is_some() => SimdOp::Multiply,
        BinaryKind::Div => return Err(needs_lookup("division by a value that is not constant")),
        BinaryKind::Mod | BinaryKind::Fmod => return Err(needs_lookup("remainder")),
    })
}

/// Returns the operand `value`, or its reciprocal, in the form that the grid needs; `None` if it is
/// not in memory.
fn other(
    builder: &mut Builder,
    chain: &Chain,
    id: NodeId,
    value: ValueId,
    reciprocal: bool,
) -> Result<Option<Other>, Reject> {
    let shape = builder.graph.shape(builder.graph.node(id).outputs[0]).to_vec();
    if let Some(tensor) = builder.graph.constant(value).cloned() {
        let name = builder.graph.value(value).name.clone();
        let elements = tensor.as_f32().ok_or_else(|| no_floats(tensor.element()))?;
        if !reciprocal {
            return constant(builder, chain, &shape, name, elements, tensor.shape()).map(Some);
        }
        let inverse: Vec<f32> = elements.iter().map(|x| 1.0 / x).collect();
        return constant(builder, chain, &shape, name, &inverse, tensor.shape()).map(Some);
    }
    let Ok(view) = builder.view(value) else { return Ok(None) };
    if view.shape == shape && view.channels == chain.channels {
        return Ok(Some(Other::Vectors(view.vectors)));
    }
    let natural = shape.last() == Some(&chain.channels);
    if natural && view.is_natural() && view.shape.last() == shape.last() {
        return Ok(Some(broadcast_pixels(builder, chain, &shape, &view)));
    }
    if !natural {
        return Ok(None);
    }
    Ok(Some(Other::Vectors(rearrange::expand(builder, id, &view, &shape)?.vectors)))
}

/// Broadcasts the pixels of a view with the grid's channels to the pixels of the grid.
fn broadcast_pixels(builder: &mut Builder, chain: &Chain, shape: &[usize], view: &View) -> Other {
    let blocks = view.blocks(builder.array_size());
    if view.vectors.len() == blocks {
        return Other::Blocks(builder.stored(view.vectors.clone()));
    }
    let outer = shape.len() - 1;
    let source = |pixel| broadcast(pixel, &shape[..outer], &view.shape[..view.shape.len() - 1]);
    let vectors = (0..chain.pixels).flat_map(|p| (0..blocks).map(move |b| (p, b)));
    Other::Vectors(vectors.map(|(p, b)| view.vectors[source(p) * blocks + b]).collect())
}

/// Returns constant elements of a shape that broadcasts to `shape`, in the form that the grid
/// needs.
///
/// # Errors
///
/// Fails for a constant that is not a float, or that exceeds DRAM1.
pub fn constant(
    builder: &mut Builder,
    chain: &Chain,
    shape: &[usize],
    name: String,
    elements: &[f32],
    own: &[usize],
) -> Result<Other, Reject> {
    if let &[scalar] = elements {
        return Ok(Other::Blocks(vec![builder.objects.splat(scalar)]));
    }
    let natural = shape.last() == Some(&chain.channels);
    if let Some(channel) = per_channel(elements, own, chain.channels).filter(|_| natural) {
        let vectors = builder.constant_vectors(name, 1, chain.channels, |_, c| channel[c])?;
        return Ok(Other::Blocks(vectors));
    }
    let element = |p: usize, c: usize| elements[broadcast(p * chain.channels + c, shape, own)];
    Ok(Other::Vectors(builder.constant_vectors(name, chain.pixels, chain.channels, element)?))
}
