//! Functions of one element that the SIMD unit has instructions for.

use npukit_graph::NodeId;
use npukit_graph::op::{self, UnaryKind};

use super::lookup;
use crate::isa::op::SimdOp;
use crate::lower::layers::hir::{ChannelOperand, Formula, Operand, Operation, Step};
use crate::lower::layers::lookup_table::Function;
use crate::lower::layers::ops::refusal::needs_register;
use crate::lower::layers::ops::steps::{formula, on_grid, with_scalar};
use crate::lower::layers::{Builder, Chain, Reject};

/// Applies a unary function to the grid.
///
/// # Errors
///
/// Fails for a function that neither the SIMD unit nor a lookup computes.
pub fn follow(
    builder: &mut Builder,
    chain: &mut Chain,
    id: NodeId,
    unary: &op::Unary,
) -> Result<bool, Reject> {
    needs_register(builder)?;
    let steps = match unary.kind {
        UnaryKind::Neg => {
            vec![Step::ChannelWise { op: SimdOp::Subtract, operand: ChannelOperand::Zero, swapped: true }]
        }
        UnaryKind::Abs => {
            vec![Step::ChannelWise { op: SimdOp::Abs, operand: ChannelOperand::Zero, swapped: false }]
        }
        UnaryKind::HardSigmoid { alpha, beta } => hard_sigmoid(builder, alpha, beta),
        UnaryKind::HardSwish => vec![hard_swish(builder)],
        UnaryKind::ThresholdedRelu { alpha } => vec![thresholded_relu(builder, alpha)],
        kind => {
            lookup::follow(builder, chain, id, Function::Unary(kind), &format!("{kind:?}"))?;
            Vec::new()
        }
    };
    chain.steps.extend(steps);
    Ok(true)
}

/// Returns the steps of `min(max(alpha x + beta, 0), 1)`.
fn hard_sigmoid(builder: &mut Builder, alpha: f32, beta: f32) -> Vec<Step> {
    [(SimdOp::Multiply, alpha), (SimdOp::Add, beta), (SimdOp::Max, 0.0), (SimdOp::Min, 1.0)]
        .into_iter()
        .map(|(op, value)| with_scalar(builder, op, value))
        .collect()
}

/// Returns the step `x min(max(x / 6 + 1/2, 0), 1)`. No binary format represents 1/6; if it is
/// rounded up, the minimum limits the factor before it is multiplied by `x`.
fn hard_swish(builder: &mut Builder) -> Step {
    let mut scalar = |op, value| {
        let operand = Operand::Blocks(vec![builder.objects.splat(value)]);
        Operation { op, operand, swapped: false }
    };
    let limited = [scalar(SimdOp::Add, 0.5), scalar(SimdOp::Max, 0.0), scalar(SimdOp::Min, 1.0)];
    let operations =
        [on_grid(SimdOp::Multiply)].into_iter().chain(limited).chain([on_grid(SimdOp::Multiply)]);
    Step::Formula(Formula {
        first: Operand::Blocks(vec![builder.objects.splat(1.0 / 6.0)]),
        operations: operations.collect(),
    })
}

/// Returns the step `x (x > alpha)`: a comparison gives one or zero.
fn thresholded_relu(builder: &mut Builder, alpha: f32) -> Step {
    let first = Operand::Blocks(vec![builder.objects.splat(alpha)]);
    formula(first, [on_grid(SimdOp::GreaterThan), on_grid(SimdOp::Multiply)])
}
