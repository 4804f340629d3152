//! Relu, LeakyRelu, PRelu and Clip on values in the accumulators.

use npukit_graph::{NodeId, op};

use super::binary;
use crate::isa::op::SimdOp;
use crate::lower::layers::hir::{Operand, Operation, Step};
use crate::lower::layers::ops::refusal::needs_register;
use crate::lower::layers::ops::steps::{formula, on_grid, with_scalar};
use crate::lower::layers::{Builder, Chain, Reject};

/// Appends steps for Relu, `max(x, 0)`, to the chain.
///
/// # Errors
///
/// Fails on an instance without a SIMD register.
pub fn relu(builder: &mut Builder, chain: &mut Chain) -> Result<bool, Reject> {
    needs_register(builder)?;
    chain.steps.push(with_scalar(builder, SimdOp::Max, 0.0));
    Ok(true)
}

/// Appends steps for Clip, `min(max(x, low), high)`, to the chain. An infinite bound takes no step.
///
/// # Errors
///
/// Fails on an instance without a SIMD register, or if constants exceed DRAM1.
pub fn clip(builder: &mut Builder, chain: &mut Chain, clip: &op::Clip) -> Result<bool, Reject> {
    needs_register(builder)?;
    for (op, bound) in [(SimdOp::Max, clip.min), (SimdOp::Min, clip.max)] {
        if bound.is_finite() {
            chain.steps.push(with_scalar(builder, op, bound));
        }
    }
    Ok(true)
}

/// Appends steps for LeakyRelu to the chain: `x` if positive, `alpha x` otherwise.
///
/// # Errors
///
/// Fails like [`clip`].
pub fn leaky_relu(builder: &mut Builder, chain: &mut Chain, leaky: &op::LeakyRelu) -> Result<bool, Reject> {
    needs_register(builder)?;
    let alpha = leaky.alpha;
    let operand =
        |builder: &mut Builder, shift| Ok(Operand::Blocks(vec![builder.objects.splat(alpha + shift)]));
    let step = sloped(builder, &[alpha], operand)?;
    chain.steps.push(step);
    Ok(true)
}

/// Appends steps for PRelu to the chain: `x` if positive, `slope x` otherwise, with one slope per
/// channel or per element.
///
/// # Errors
///
/// Fails like [`clip`], or if the slopes are not constant.
pub fn prelu(builder: &mut Builder, chain: &mut Chain, id: NodeId) -> Result<bool, Reject> {
    needs_register(builder)?;
    let node = builder.graph.node(id);
    if chain.value != node.inputs[0] {
        return Ok(false);
    }
    let name = builder.graph.value(node.inputs[1]).name.clone();
    let tensor = builder.graph.constant(node.inputs[1]).cloned();
    let Some((slopes, own)) = tensor.as_ref().and_then(|tensor| tensor.as_f32().zip(Some(tensor.shape())))
    else {
        return Err(Reject::new(
            format!("its slope `{name}` is not a float constant"),
            "export the model with a constant slope",
        ));
    };
    let shape = builder.graph.shape(chain.value);
    let step = sloped(builder, slopes, |builder, shift| {
        let shifted: Vec<f32> = slopes.iter().map(|slope| slope + shift).collect();
        binary::constant(builder, chain, shape, name.clone(), &shifted, own).map(Operand::from)
    })?;
    chain.steps.push(step);
    Ok(true)
}

/// Appends steps for a function with slopes. It is `max(x, slope x)` if no slope is above 1,
/// `min(x, slope x)` if none is below 1, and `x + (slope - 1) min(x, 0)` otherwise. `operand`
/// returns the slopes plus a number.
fn sloped(
    builder: &mut Builder,
    slopes: &[f32],
    operand: impl Fn(&mut Builder, f32) -> Result<Operand, Reject>,
) -> Result<Step, Reject> {
    let below = slopes.iter().all(|&slope| slope <= 1.0);
    let above = slopes.iter().all(|&slope| slope >= 1.0);
    if below || above {
        let first = operand(builder, 0.0)?;
        let closing = if below { SimdOp::Max } else { SimdOp::Min };
        return Ok(formula(first, [on_grid(SimdOp::Multiply), on_grid(closing)]));
    }
    let zero = Operand::Blocks(vec![builder.objects.splat(0.0)]);
    let slopes = Operation { op: SimdOp::Multiply, operand: operand(builder, -1.0)?, swapped: false };
    Ok(formula(zero, [on_grid(SimdOp::Min), slopes, on_grid(SimdOp::Add)]))
}
