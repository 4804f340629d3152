//! Relu, LeakyRelu and Clip on values in the accumulators.

use npukit_graph::op;

use crate::lower::hir::{ChannelOperand, Formula, Operand, Operation, Step};
use crate::lower::layers::{Builder, Chain, Reject};
use crate::op::SimdOp;

/// The SIMD unit combines two vectors through a register.
pub fn needs_register(builder: &Builder) -> Result<(), Reject> {
    if builder.config.simd_registers_depth == 0 {
        return Err(Reject::new(
            "the instance has no SIMD register (simd_registers_depth is 0)",
            "use an instance with at least one",
        ));
    }
    Ok(())
}

/// `op(grid, value)` with `value` in all lanes.
fn with_scalar(builder: &mut Builder, op: SimdOp, value: f32) -> Step {
    let operand = match value {
        0.0 => ChannelOperand::Zero,
        _ => ChannelOperand::Blocks(vec![builder.objects.splat(value)]),
    };
    Step::ChannelWise { op, operand, swapped: false }
}

/// `max(x, 0)`.
pub fn relu(builder: &mut Builder, chain: &mut Chain) -> Result<bool, Reject> {
    needs_register(builder)?;
    chain.steps.push(with_scalar(builder, SimdOp::Max, 0.0));
    Ok(true)
}

/// `min(max(x, low), high)`; infinite bounds take no step.
pub fn clip(builder: &mut Builder, chain: &mut Chain, clip: &op::Clip) -> Result<bool, Reject> {
    needs_register(builder)?;
    for (op, bound) in [(SimdOp::Max, clip.min), (SimdOp::Min, clip.max)] {
        if bound.is_finite() {
            chain.steps.push(with_scalar(builder, op, bound));
        }
    }
    Ok(true)
}

/// `x` with negative elements times `alpha`.
pub fn leaky_relu(builder: &mut Builder, chain: &mut Chain, leaky: &op::LeakyRelu) -> Result<bool, Reject> {
    needs_register(builder)?;
    let alpha = leaky.alpha;
    let slopes = |builder: &mut Builder, shift: f32| vec![builder.objects.splat(alpha + shift)];
    let step = sloped(builder, &[alpha], |builder, shift| Ok(Operand::Blocks(slopes(builder, shift))))?;
    chain.steps.push(step);
    Ok(true)
}

/// `max(x, slope x)` where no slope is above 1, `min(x, slope x)` where none is below, and
/// `x + (slope - 1) min(x, 0)` elsewhere. `operand` gives the slopes plus a number.
fn sloped(
    builder: &mut Builder,
    slopes: &[f32],
    operand: impl Fn(&mut Builder, f32) -> Result<Operand, Reject>,
) -> Result<Step, Reject> {
    let below = slopes.iter().all(|&slope| slope <= 1.0);
    let above = slopes.iter().all(|&slope| slope >= 1.0);
    let formula = if below || above {
        let first = operand(builder, 0.0)?;
        let closing = if below { SimdOp::Max } else { SimdOp::Min };
        Formula { first, operations: vec![on_grid(SimdOp::Multiply), on_grid(closing)] }
    } else {
        let zero = Operand::Blocks(vec![builder.objects.splat(0.0)]);
        let slopes = Operation { op: SimdOp::Multiply, operand: operand(builder, -1.0)?, swapped: false };
        Formula { first: zero, operations: vec![on_grid(SimdOp::Min), slopes, on_grid(SimdOp::Add)] }
    };
    Ok(Step::Formula(formula))
}

/// `op(grid, register)`.
pub fn on_grid(op: SimdOp) -> Operation {
    Operation { op, operand: Operand::Grid, swapped: false }
}
