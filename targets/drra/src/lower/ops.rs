//! Operators as steps: a file for each family.

mod dense;
mod layout;
mod pointwise;
mod window;

use npukit_graph::{Node, Op, ValueId};

use super::{Lowering, Reject};

/// Appends the steps of a node.
pub(super) fn lower(lowering: &mut Lowering<'_>, node: &Node) -> Result<(), Reject> {
    match &node.op {
        Op::MatMul(_) => dense::matmul(lowering, node),
        Op::Gemm(gemm) => dense::gemm(lowering, node, gemm),
        Op::Conv(conv) => window::conv(lowering, node, conv),
        Op::MaxPool(pool) => window::max_pool(lowering, node, &pool.window),
        Op::AveragePool(pool) => window::average_pool(lowering, node, pool),
        Op::Binary(binary) => pointwise::binary(lowering, node, binary.kind),
        Op::Relu(_) => pointwise::relu(lowering, node),
        Op::Reshape(_) => layout::reshape(lowering, node),
        Op::Transpose(transpose) => layout::transpose(lowering, node, &transpose.perm),
        _ => Err(Reject::new(
            "there is no kernel for it",
            "there are MatMul, Gemm, Conv, MaxPool, AveragePool, Add, Sub, Mul, Max, Min, Relu, Reshape, Transpose",
        )),
    }
}

/// The operand in a place.
fn operand(node: &Node, place: usize) -> Result<ValueId, Reject> {
    node.inputs.get(place).copied().ok_or_else(|| Reject::new("an operand is missing", "check the model"))
}

/// The only result.
fn result(node: &Node) -> Result<ValueId, Reject> {
    node.outputs.first().copied().ok_or_else(|| Reject::new("the result is missing", "check the model"))
}
