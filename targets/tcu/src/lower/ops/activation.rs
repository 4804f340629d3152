//! Relu, LeakyRelu and Clip on values in the accumulators.

use npukit_graph::op;

use crate::lower::hir::{ChannelOperand, Step};
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

/// `max(x, alpha x)` for slopes from 0 to 1, `min(x, alpha x)` above.
pub fn leaky_relu(builder: &mut Builder, chain: &mut Chain, leaky: &op::LeakyRelu) -> Result<bool, Reject> {
    needs_register(builder)?;
    let alpha = leaky.alpha;
    if alpha.is_nan() || alpha < 0.0 {
        return Err(Reject::new(
            format!("a negative slope ({alpha}) has no form on the SIMD unit"),
            "use a slope of 0 or more",
        ));
    }
    let op = if alpha <= 1.0 { SimdOp::Max } else { SimdOp::Min };
    chain.steps.push(Step::LeakyRelu { op, alpha: builder.objects.splat(alpha) });
    Ok(true)
}
