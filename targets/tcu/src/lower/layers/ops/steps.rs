//! Steps shared by several operator families.

use crate::isa::op::SimdOp;
use crate::lower::layers::Builder;
use crate::lower::layers::hir::{ChannelOperand, Formula, Operand, Operation, Step};

/// Returns the step `op(grid, value)` with `value` in all lanes.
pub fn with_scalar(builder: &mut Builder, op: SimdOp, value: f32) -> Step {
    let operand = match value {
        0.0 => ChannelOperand::Zero,
        _ => ChannelOperand::Blocks(vec![builder.objects.splat(value)]),
    };
    Step::ChannelWise { op, operand, swapped: false }
}

/// Returns a formula as a step.
pub fn formula(first: Operand, operations: impl IntoIterator<Item = Operation>) -> Step {
    Step::Formula(Formula { first, operations: operations.into_iter().collect() })
}

/// Returns the operation `op(grid, register)`.
pub fn on_grid(op: SimdOp) -> Operation {
    Operation { op, operand: Operand::Grid, swapped: false }
}
