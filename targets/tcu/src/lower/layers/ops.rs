//! Translation of graph operators to HIR, one file per operator family. A new operator needs a file
//! and a line in [`lower`]. It also needs one in [`follow`] if it can work on values in the
//! accumulators.

mod activation;
mod binary;
mod broadcast;
mod choice;
mod conv;
mod conv_transpose;
mod depthwise;
pub mod host;
mod lookup;
mod matmul;
mod normalization;
mod pool;
mod power;
mod product;
mod rearrange;
mod reduce;
pub mod refusal;
mod resize;
mod steps;
mod unary;
mod variable_matmul;

use npukit_graph::{NodeId, Op, ValueId};

use super::hir::Step;
use super::{Builder, Chain, Lowered, Reject};
use crate::lower::memory::view::View;
pub use reduce::mean_factors;

/// Lowers node `id` as the first node of a chain, or as views.
///
/// # Errors
///
/// Reports why the array cannot compute it.
pub fn lower(builder: &mut Builder, id: NodeId) -> Result<Lowered, Reject> {
    if let Some(op) = host::of(builder, &builder.graph.node(id).op)
        && let Some(lowered) = host::lower(builder, id, op)?
    {
        return Ok(lowered);
    }
    match &builder.graph.node(id).op {
        Op::Conv(op) => match depthwise::lower(builder, id, op)? {
            Some(chain) => Ok(Lowered::Chain(chain)),
            None => conv::lower(builder, id, op),
        },
        Op::ConvTranspose(op) => conv_transpose::lower(builder, id, op),
        Op::Gemm(op) => matmul::lower_gemm(builder, id, op),
        Op::MatMul(_) => matmul::lower(builder, id),
        Op::Concat(op) => rearrange::concat(builder, id, op),
        Op::Split(op) => rearrange::split(builder, id, op),
        Op::Slice(op) => rearrange::slice(builder, id, op),
        Op::Gather(op) => rearrange::gather_indices(builder, id, op.axis),
        Op::Trilu(op) => choice::trilu(builder, id, op),
        Op::Where(_) => choice::lower_where(builder, id),
        Op::Reduce(op) => match reduce::lower(builder, id, op)? {
            Some(lowered) => Ok(lowered),
            None => load_and_follow(builder, id),
        },
        Op::Pad(op) => rearrange::pad(builder, id, op),
        Op::Reshape(op) => rearrange::reshape(builder, id, op),
        Op::Tile(_) => rearrange::tile(builder, id),
        Op::Transpose(op) => rearrange::transpose(builder, id, op),
        Op::Resize(op) if resize::is_nearest(op) => resize::nearest(builder, id, op),
        _ => load_and_follow(builder, id),
    }
}

/// Appends node `id` to the chain, if it can work on the chain's value in the accumulators. Returns
/// `false` if the value must be saved first.
///
/// # Errors
///
/// Reports why the array cannot compute the node at all.
pub fn follow(builder: &mut Builder, chain: &mut Chain, id: NodeId) -> Result<bool, Reject> {
    match &builder.graph.node(id).op {
        Op::Conv(op) => depthwise::follow(builder, chain, id, op),
        Op::BatchNormalization(op) => normalization::follow(builder, chain, id, op),
        Op::Binary(op) => binary::follow(builder, chain, id, op),
        Op::Relu(_) => activation::relu(builder, chain),
        Op::LeakyRelu(op) => activation::leaky_relu(builder, chain, op),
        Op::PRelu(_) => activation::prelu(builder, chain, id),
        Op::Unary(op) => unary::follow(builder, chain, id, op),
        Op::Pow(_) => power::follow(builder, chain, id),
        Op::Reduce(op) => reduce::follow(builder, chain, id, op),
        Op::Clip(op) => activation::clip(builder, chain, op),
        Op::MaxPool(op) => pool::max(builder, chain, id, op),
        Op::AveragePool(op) => pool::average(builder, chain, id, op),
        Op::Resize(op) if !resize::is_nearest(op) => resize::linear(builder, chain, id, op),
        _ => Ok(false),
    }
}

/// Starts a chain by loading an operand of node `id`, largest first, and appends the node to it.
fn load_and_follow(builder: &mut Builder, id: NodeId) -> Result<Lowered, Reject> {
    let node = builder.graph.node(id);
    let mut operands: Vec<ValueId> =
        node.inputs.iter().copied().filter(|&value| builder.graph.constant(value).is_none()).collect();
    operands.sort_by_key(|&value| std::cmp::Reverse(builder.graph.shape(value).iter().product::<usize>()));
    for value in operands {
        if let Some(chain) = load_and(builder, id, value, follow)? {
            return Ok(Lowered::Chain(chain));
        }
    }
    if let Op::Binary(op) = &node.op
        && let Some(mut chain) = binary::lower(builder, id, op)?
    {
        (chain.value, chain.saved) = (node.outputs[0], false);
        return Ok(Lowered::Chain(chain));
    }
    Err(refusal::of(&node.op))
}

/// Loads `value` into a new chain and appends node `id` with `follow`; `None` if it cannot follow.
fn load_and(
    builder: &mut Builder,
    id: NodeId,
    value: ValueId,
    follow: impl Fn(&mut Builder, &mut Chain, NodeId) -> Result<bool, Reject>,
) -> Result<Option<Chain>, Reject> {
    let mut chain = load(builder, id, value)?;
    let followed = follow(builder, &mut chain, id)?;
    (chain.value, chain.saved) = (builder.graph.node(id).outputs[0], false);
    Ok(followed.then_some(chain))
}

/// Returns a chain with the grid `value`, loaded from memory in its natural packing.
fn load(builder: &mut Builder, id: NodeId, value: ValueId) -> Result<Chain, Reject> {
    let view = natural_view(builder, id, value)?;
    Ok(loaded(builder, id, value, view))
}

/// Returns a chain with the grid `view`, loaded from memory.
fn loaded(builder: &mut Builder, id: NodeId, value: ValueId, view: View) -> Chain {
    let pixels = view.pixels(builder.array_size());
    let channels = view.channels;
    let steps = vec![Step::Load(builder.stored(view.vectors))];
    Chain { nodes: vec![id], value, pixels, channels, macs: 0, steps, saved: true }
}

/// Returns the view of an operand in the packing of its innermost axis, repacked if necessary.
fn natural_view(builder: &mut Builder, id: NodeId, value: ValueId) -> Result<View, Reject> {
    let view = builder.view(value)?;
    if view.is_natural() { Ok(view) } else { rearrange::repack(builder, id, &view) }
}

/// Returns the value that owns the vectors of `output`, and for each axis of this value the axis of
/// `output`. Host steps and a final Transpose do not move vectors.
pub fn output_layout(builder: &Builder, output: ValueId) -> (ValueId, Vec<usize>) {
    let mut value = output;
    let mut axes: Vec<usize> = (0..builder.graph.shape(output).len()).collect();
    while let Some(id) = builder.fusion.readers.producer(value) {
        let node = builder.graph.node(id);
        match &node.op {
            op if host::of(builder, op).is_some() => {}
            Op::Transpose(op) if rearrange::closes_the_graph(builder, value) => {
                let mut under = axes.clone();
                for (j, &axis) in op.perm.iter().enumerate() {
                    under[axis] = axes[j];
                }
                axes = under;
            }
            _ => break,
        }
        value = node.inputs[0];
    }
    (value, axes)
}
