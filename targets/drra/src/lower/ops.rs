//! Lowers operators to steps: one file per family.

mod dense;
mod extremes;
mod fourier;
mod layout;
mod normalization;
mod pointwise;
mod reduce;
mod root;
mod scale;
mod window;

use npukit_graph::{Node, Op, ValueId};
use npukit_lower::Reject;

use super::Lowering;
pub(crate) use window::reaches_border;

/// Appends the steps of a node.
pub(super) fn lower(lowering: &mut Lowering<'_>, node: &Node) -> Result<(), Reject> {
    match &node.op {
        Op::MatMul(_) => dense::matmul(lowering, node),
        Op::Gemm(gemm) => dense::gemm(lowering, node, gemm),
        Op::Conv(conv) => window::conv(lowering, node, conv),
        Op::MaxPool(pool) => window::max_pool(lowering, node, &pool.window),
        Op::AveragePool(pool) => window::average_pool(lowering, node, pool),
        Op::Reduce(reduce) => reduce::reduce(lowering, node, reduce),
        Op::Binary(binary) => pointwise::binary(lowering, node, binary.kind),
        Op::Unary(unary) => pointwise::unary(lowering, node, unary.kind),
        Op::Relu(_) => pointwise::relu(lowering, node),
        Op::LeakyRelu(relu) => pointwise::leaky_relu(lowering, node, relu.alpha),
        Op::Clip(clip) => pointwise::clip(lowering, node, clip),
        Op::BatchNormalization(batch) => normalization::batch(lowering, node, batch),
        Op::Softmax(softmax) => normalization::softmax(lowering, node, softmax),
        Op::Dft(dft) => fourier::dft(lowering, node, dft),
        Op::Reshape(_) => layout::reshape(lowering, node),
        Op::Transpose(transpose) => layout::transpose(lowering, node, &transpose.perm),
        Op::Slice(slice) => layout::slice(lowering, node, slice),
        Op::Split(split) => layout::split(lowering, node, split),
        Op::Concat(concat) => layout::concat(lowering, node, concat.axis),
        Op::Pad(pad) => layout::pad(lowering, node, pad),
        Op::Resize(resize) => layout::resize(lowering, node, resize),
        _ => Err(Reject::new(
            "no kernel computes this operator",
            "supported are matrix products, convolutions, pooling, reductions, BatchNormalization, Softmax, elementwise \
             arithmetic and data moves; targets/drra/README.md lists all operators",
        )),
    }
}

/// Returns the operand with an index.
fn operand(node: &Node, place: usize) -> Result<ValueId, Reject> {
    node.inputs.get(place).copied().ok_or_else(|| Reject::new("an operand is missing", "check the model"))
}

/// Returns the single result.
fn result(node: &Node) -> Result<ValueId, Reject> {
    node.outputs.first().copied().ok_or_else(|| Reject::new("the result is missing", "check the model"))
}
