//! Operators, one file per family. [`lower`] starts a chain with a node, [`follow`] lets a node
//! join a chain.

pub mod clip;
pub mod conv;
pub mod elementwise;
pub mod host;
pub mod input;
pub mod matmul;
pub mod pool;
pub mod rearrange;
pub mod resize;

use std::sync::Arc;

use npukit_graph::{NodeId, Op, Operator, ValueId};
use npukit_lower::Reject;
use npukit_numeric::Tensor;

use crate::lower::builder::{Builder, Chain, Lowered};

/// Lowers node `id`.
///
/// # Errors
///
/// The reason why the machine cannot execute the node.
pub fn lower(builder: &mut Builder, id: NodeId) -> Result<Lowered, Reject> {
    let node = builder.node(id);
    match &node.op {
        Op::Conv(op) => conv::lower(builder, id, op),
        Op::Gemm(op) => matmul::gemm(builder, id, op),
        Op::MatMul(_) => matmul::matmul(builder, id),
        Op::MaxPool(op) => pool::max(builder, id, op),
        Op::AveragePool(op) => pool::average(builder, id, op),
        Op::Reduce(op) => pool::reduce(builder, id, op),
        Op::Relu(_) | Op::LeakyRelu(_) => elementwise::activation(builder, id),
        Op::Clip(op) => clip::lower(builder, id, op),
        Op::Binary(_) | Op::BatchNormalization(_) => elementwise::arithmetic(builder, id),
        Op::Reshape(_) => rearrange::reshape(builder, id),
        Op::Transpose(op) => rearrange::transpose(builder, id, op),
        Op::Concat(op) => rearrange::concat(builder, id, op),
        Op::Split(op) => rearrange::split(builder, id, op),
        Op::Slice(op) => rearrange::slice(builder, id, op),
        Op::Pad(op) => rearrange::pad(builder, id, op),
        Op::Resize(op) => resize::lower(builder, id, op),
        op => Err(Reject::new(
            format!("{} is not supported", op.name()),
            "cut the model before this node, or replace it by convolutions, ReLU and pooling",
        )),
    }
}

/// Lets node `id` join the chain whose value it reads; returns false if it must start its own
/// chain.
///
/// # Errors
///
/// The reason why the machine can execute neither the node nor the chain before it.
pub fn follow(builder: &mut Builder, chain: &mut Chain, id: NodeId) -> Result<bool, Reject> {
    match &builder.node(id).op {
        Op::Relu(_) | Op::LeakyRelu(_) => elementwise::follow_activation(builder, chain, id),
        Op::Clip(op) => clip::follow(builder, chain, id, op),
        Op::MaxPool(op) => pool::follow(builder, chain, id, op),
        Op::Binary(_) | Op::BatchNormalization(_) => elementwise::follow_arithmetic(builder, chain, id),
        _ => Ok(false),
    }
}

/// Returns a constant of floats.
fn constant(builder: &Builder, value: ValueId, what: &str) -> Result<Arc<Tensor>, Reject> {
    let Some(tensor) = builder.graph.constant(value) else {
        let reason = format!("its {what} are computed, but the machine only multiplies by constants");
        return Err(Reject::new(
            reason,
            "export the model with constant weights, or cut the model before this node",
        ));
    };
    if tensor.as_f32().is_none() {
        let reason = format!("its {what} have type {:?}", tensor.element());
        return Err(Reject::new(reason, "export the model with float weights"));
    }
    Ok(tensor.clone())
}

/// Returns the floats of an optional constant operand.
fn optional(builder: &Builder, value: Option<&ValueId>, what: &str) -> Result<Option<Vec<f32>>, Reject> {
    value.map(|&value| Ok(floats(&*constant(builder, value, what)?).to_vec())).transpose()
}

/// Returns the elements of a tensor that [`constant`] returned.
fn floats(constant: &Tensor) -> &[f32] {
    constant.as_f32().expect("`constant` gives tensors of floats only")
}
