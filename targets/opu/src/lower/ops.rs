//! Operators: one file per family. [`lower`] starts a chain with a node, [`follow`] lets one join a chain.

pub mod conv;
pub mod elementwise;
pub mod host;
pub mod input;
pub mod matmul;
pub mod pool;
pub mod rearrange;
pub mod resize;

use std::sync::Arc;

use npukit_graph::{Op, Operator, ValueId};
use npukit_numeric::Tensor;

use super::builder::{Builder, Chain, Lowered};
use super::error::Reject;

/// Lowers node `i`.
pub fn lower(builder: &mut Builder, i: usize) -> Result<Lowered, Reject> {
    let node = builder.node(i);
    match &node.op {
        Op::Conv(op) => conv::lower(builder, i, op),
        Op::Gemm(op) => matmul::gemm(builder, i, op),
        Op::MatMul(_) => matmul::matmul(builder, i),
        Op::MaxPool(op) => pool::max(builder, i, op),
        Op::AveragePool(op) => pool::average(builder, i, op),
        Op::Reduce(op) => pool::reduce(builder, i, op),
        Op::Relu(_) | Op::LeakyRelu(_) => elementwise::activation(builder, i),
        Op::Binary(_) | Op::BatchNormalization(_) => elementwise::arithmetic(builder, i),
        Op::Reshape(_) => rearrange::reshape(builder, i),
        Op::Transpose(op) => rearrange::transpose(builder, i, op),
        Op::Concat(op) => rearrange::concat(builder, i, op),
        Op::Split(op) => rearrange::split(builder, i, op),
        Op::Slice(op) => rearrange::slice(builder, i, op),
        Op::Pad(op) => rearrange::pad(builder, i, op),
        Op::Resize(op) => resize::lower(builder, i, op),
        op => Err(Reject::new(
            format!("the machine has no {}", op.name()),
            "end the model before it, or replace it by convolutions, ReLU and pooling",
        )),
    }
}

/// Lets node `i` join the chain whose value it reads; false when it starts one of its own.
pub fn follow(builder: &mut Builder, chain: &mut Chain, i: usize) -> Result<bool, Reject> {
    match &builder.node(i).op {
        Op::Relu(_) | Op::LeakyRelu(_) => elementwise::follow_activation(builder, chain, i),
        Op::MaxPool(op) => pool::follow(builder, chain, i, op),
        Op::Binary(_) | Op::BatchNormalization(_) => elementwise::follow_arithmetic(builder, chain, i),
        _ => Ok(false),
    }
}

/// A constant of floats.
fn constant(builder: &Builder, value: ValueId, what: &str) -> Result<Arc<Tensor>, Reject> {
    let Some(tensor) = builder.graph.constant(value) else {
        let reason = format!("its {what} are computed, and the machine multiplies by constants alone");
        return Err(Reject::new(reason, "export the model with constant weights, or end it before"));
    };
    if tensor.as_f32().is_none() {
        let reason = format!("its {what} are constants of {:?}", tensor.element());
        return Err(Reject::new(reason, "export the model with weights of floats"));
    }
    Ok(tensor.clone())
}

/// The floats of an optional constant operand.
fn optional(builder: &Builder, value: Option<&ValueId>, what: &str) -> Result<Option<Vec<f32>>, Reject> {
    let floats = |&value| Ok(constant(builder, value, what)?.as_f32().unwrap_or_default().to_vec());
    value.map(floats).transpose()
}
