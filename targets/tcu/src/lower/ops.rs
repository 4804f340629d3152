//! From graph operators to HIR, one file per operator family. A new operator is a file and a line in
//! [`lower`], and one in [`follow`] when it can work on values in the accumulators.

mod activation;
mod binary;
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
mod rearrange;
mod reduce;
pub mod refusal;
mod resize;
mod unary;
mod variable_matmul;

use npukit_graph::{Op, ValueId};

use super::hir::Step;
use super::layers::{Builder, Chain, Lowered, Reject};
use super::view::View;

/// Lowers node `i` as the first of a chain, or as views.
pub fn lower(builder: &mut Builder, i: usize) -> Result<Lowered, Reject> {
    if let Some(op) = host::of(builder, &builder.graph.nodes[i].op)
        && let Some(lowered) = host::lower(builder, i, op)?
    {
        return Ok(lowered);
    }
    match &builder.graph.nodes[i].op {
        Op::Conv(op) => match depthwise::lower(builder, i, op)? {
            Some(chain) => Ok(Lowered::Chain(chain)),
            None => conv::lower(builder, i, op),
        },
        Op::ConvTranspose(op) => conv_transpose::lower(builder, i, op),
        Op::Gemm(op) => matmul::lower_gemm(builder, i, op),
        Op::MatMul(_) => matmul::lower(builder, i),
        Op::Concat(op) => rearrange::concat(builder, i, op),
        Op::Split(op) => rearrange::split(builder, i, op),
        Op::Slice(op) => rearrange::slice(builder, i, op),
        Op::Gather(op) => rearrange::gather_indices(builder, i, op.axis),
        Op::Trilu(op) => choice::trilu(builder, i, op),
        Op::Where(_) => choice::lower_where(builder, i),
        Op::Reduce(op) => match reduce::lower(builder, i, op)? {
            Some(lowered) => Ok(lowered),
            None => load_and_follow(builder, i),
        },
        Op::Pad(op) => rearrange::pad(builder, i, op),
        Op::Reshape(op) => rearrange::reshape(builder, i, op),
        Op::Tile(_) => rearrange::tile(builder, i),
        Op::Transpose(op) => rearrange::transpose(builder, i, op),
        Op::Resize(op) if resize::is_nearest(op) => resize::nearest(builder, i, op),
        _ => load_and_follow(builder, i),
    }
}

/// Lets node `i` work on the chain's value in the accumulators. `false` when it cannot, but could
/// after the value was saved.
pub fn follow(builder: &mut Builder, chain: &mut Chain, i: usize) -> Result<bool, Reject> {
    match &builder.graph.nodes[i].op {
        Op::Conv(op) => depthwise::follow(builder, chain, i, op),
        Op::BatchNormalization(op) => normalization::follow(builder, chain, i, op),
        Op::Binary(op) => binary::follow(builder, chain, i, op),
        Op::Relu(_) => activation::relu(builder, chain),
        Op::LeakyRelu(op) => activation::leaky_relu(builder, chain, op),
        Op::PRelu(_) => activation::prelu(builder, chain, i),
        Op::Unary(op) => unary::follow(builder, chain, op),
        Op::Pow(_) => power::follow(builder, chain, i),
        Op::Reduce(op) => reduce::follow(builder, chain, i, op),
        Op::Clip(op) => activation::clip(builder, chain, op),
        Op::MaxPool(op) => pool::max(builder, chain, i, op),
        Op::AveragePool(op) => pool::average(builder, chain, i, op),
        Op::Resize(op) if !resize::is_nearest(op) => resize::linear(builder, chain, i, op),
        _ => Ok(false),
    }
}

/// Starts a chain by loading an operand of node `i`, the widest first, and lets the node follow.
fn load_and_follow(builder: &mut Builder, i: usize) -> Result<Lowered, Reject> {
    let node = &builder.graph.nodes[i];
    let mut operands: Vec<ValueId> =
        node.inputs.iter().copied().filter(|&value| builder.graph.constant(value).is_none()).collect();
    operands.sort_by_key(|&value| std::cmp::Reverse(builder.graph.shape(value).iter().product::<usize>()));
    for value in operands {
        if let Some(chain) = load_and(builder, i, value, follow)? {
            return Ok(Lowered::Chain(chain));
        }
    }
    if let Op::Binary(op) = &node.op
        && let Some(mut chain) = binary::lower(builder, i, op)?
    {
        (chain.value, chain.saved) = (node.outputs[0], false);
        return Ok(Lowered::Chain(chain));
    }
    Err(refusal::of(&node.op))
}

/// A chain that loads `value` and lets node `i` follow by `follow`; `None` when it cannot.
fn load_and(
    builder: &mut Builder,
    i: usize,
    value: ValueId,
    follow: impl Fn(&mut Builder, &mut Chain, usize) -> Result<bool, Reject>,
) -> Result<Option<Chain>, Reject> {
    let mut chain = load(builder, i, value)?;
    let followed = follow(builder, &mut chain, i)?;
    (chain.value, chain.saved) = (builder.graph.nodes[i].outputs[0], false);
    Ok(followed.then_some(chain))
}

/// A chain whose grid is `value`, loaded from memory in its natural packing.
fn load(builder: &mut Builder, i: usize, value: ValueId) -> Result<Chain, Reject> {
    let view = natural_view(builder, i, value)?;
    Ok(loaded(builder, i, value, view))
}

/// A chain whose grid is `view`, loaded from memory.
fn loaded(builder: &mut Builder, i: usize, value: ValueId, view: View) -> Chain {
    let pixels = view.pixels(builder.array_size());
    let channels = view.channels;
    let steps = vec![Step::Load(builder.stored(view.vectors))];
    Chain { nodes: vec![i], value, pixels, channels, macs: 0, steps, saved: true }
}

/// The view of an operand in the packing its innermost axis asks for; repacked when it has another.
fn natural_view(builder: &mut Builder, i: usize, value: ValueId) -> Result<View, Reject> {
    let view = builder.view(value)?.clone();
    if view.is_natural() { Ok(view) } else { rearrange::repack(builder, i, &view) }
}

/// The value whose vectors hold `output`, and for each of its axes the axis of `output`. Host steps
/// and a closing Transpose leave the vectors as they are.
pub fn output_layout(builder: &Builder, output: ValueId) -> (ValueId, Vec<usize>) {
    let mut value = output;
    let mut axes: Vec<usize> = (0..builder.graph.shape(output).len()).collect();
    while let Some(node) = builder.producer(value) {
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
