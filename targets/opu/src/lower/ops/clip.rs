//! Clip between 0 and a bound: `bound - relu(bound - x)` is the minimum of `x` and the bound, and a
//! ReLU of that completes it. The first ReLU belongs to the layer whose sum is clipped, so clipping
//! adds one layer.

use npukit_graph::{NodeId, op};
use npukit_lower::Reject;

use super::elementwise::copy;
use crate::isa::op::Activation;
use crate::lower::builder::copies::identity;
use crate::lower::builder::{Builder, Chain, Lowered};
use crate::lower::layer::{Post, Step};
use crate::lower::product::Product;

/// Implementation of a clip on the machine.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Form {
    /// ReLU only: numbers above the bound saturate anyway.
    Rectified,
    /// Clip between 0 and this bound.
    Below(f32),
}

/// Lowers a clip of a value in memory.
///
/// # Errors
///
/// The machine cannot clip at these bounds, or the operand is not in memory.
pub fn lower(builder: &mut Builder, id: NodeId, op: &op::Clip) -> Result<Lowered, Reject> {
    let form = form(builder, id, op)?;
    let mut chain = copy(builder, id)?;
    clip(builder, &mut chain, id, form)?;
    chain.nodes = vec![id];
    Ok(Lowered::Chain(chain))
}

/// Lets a clip join a chain.
///
/// # Errors
///
/// Never fails: a clip that cannot join is lowered on its own.
pub fn follow(builder: &mut Builder, chain: &mut Chain, id: NodeId, op: &op::Clip) -> Result<bool, Reject> {
    let is_plain = chain.post.is_empty() && chain.copies == [1, 1];
    match form(builder, id, op) {
        Ok(form) if is_plain => clip(builder, chain, id, form).map(|()| true),
        _ => Ok(false),
    }
}

/// Clips the sum of a chain without steps.
fn clip(builder: &mut Builder, chain: &mut Chain, id: NodeId, form: Form) -> Result<(), Reject> {
    let rectified = || {
        let post = Post::default().with(Step::Activation(Activation::Relu));
        post.ok_or_else(|| Reject::new("no store supports ReLU", "remove the clip"))
    };
    if let Form::Below(bound) = form {
        below(builder, chain, id, bound, rectified()?)?;
    }
    chain.post = rectified()?;
    Ok(())
}

/// Stores `relu(bound - x)` of the chain's sum `x`, and continues the chain with `bound` minus
/// that.
fn below(builder: &mut Builder, chain: &mut Chain, id: NodeId, bound: f32, post: Post) -> Result<(), Reject> {
    let value = builder.node(id).outputs[0];
    let (size, channels) = (chain.product.size, chain.product.channels);
    let mirrored = vec![[-1.0, f64::from(bound)]; channels];
    // Sums saturate before the clip as well, so the operand's fraction length must account for
    // their size.
    let fraction = builder.fraction(value)?.min(builder.fraction(builder.node(id).inputs[0])?);
    let name = format!("{}/below", builder.graph.value(value).name);
    let output = builder.planes.new_map(&name, size, channels, fraction);
    let mut product =
        Product { size, channels, parts: vec![identity(&output, 1.0)], factors: None, bias: None };
    product.then(&mirrored);
    let mut first = std::mem::replace(&mut chain.product, product);
    first.then(&mirrored);
    let nodes = std::mem::take(&mut chain.nodes);
    builder.push_part(&nodes, first, post, output);
    Ok(())
}

/// Chooses the implementation of node `id`.
///
/// For integer types the bound must be an integer of the type. Then the second difference restores
/// the input of the first one, and a difference that saturates belongs to a number below 0. A bound
/// above all integers has no effect.
fn form(builder: &Builder, id: NodeId, op: &op::Clip) -> Result<Form, Reject> {
    let refused = |reason: String| {
        Reject::new(reason, "clip between 0 and a number, as ReLU6 does, or cut the model before this node")
    };
    if op.min != 0.0 || !op.max.is_finite() || op.max <= 0.0 {
        return Err(refused(format!(
            "it clips between {} and {}; the machine supports 0 and a positive number",
            op.min, op.max
        )));
    }
    let (input, output) = (builder.node(id).inputs[0], builder.node(id).outputs[0]);
    let held = builder.quantization.and_then(|found| Some((found.fraction(output)?, found.bits(output)?)));
    let Some((fraction, bits)) = held else { return Ok(Form::Below(op.max)) };
    let bound = |fraction: i32| f64::from(op.max) * f64::from(fraction).exp2();
    let largest = f64::from(bits - 1).exp2() - 1.0;
    // Default: an operand without a fraction length is rejected when it is read.
    let step = builder.quantization.and_then(|found| found.fraction(input)).unwrap_or(fraction).min(fraction);
    match bound(step) {
        _ if bound(fraction) >= largest => Ok(Form::Rectified),
        bound if bound.fract() == 0.0 => Ok(Form::Below(op.max)),
        _ => Err(refused(format!("its bound {} is not a multiple of the step 2^{}", op.max, -step))),
    }
}
