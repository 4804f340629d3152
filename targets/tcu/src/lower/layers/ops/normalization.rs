//! BatchNormalization that was not folded into a convolution: a multiplication and an addition per
//! channel.

use npukit_graph::{NodeId, op};

use crate::isa::op::SimdOp;
use crate::lower::layers::hir::{ChannelOperand, Step};
use crate::lower::layers::ops::refusal::needs_register;
use crate::lower::layers::{Builder, Chain, Reject};
use crate::lower::memory::view::natural_channels;

/// Appends steps for the normalization to the chain. Factor and addend of each channel are computed
/// in double precision.
///
/// # Errors
///
/// Fails if the parameters are not constants per channel, or the instance has no SIMD register.
pub fn follow(
    builder: &mut Builder,
    chain: &mut Chain,
    id: NodeId,
    norm: &op::BatchNormalization,
) -> Result<bool, Reject> {
    needs_register(builder)?;
    let node = builder.graph.node(id);
    let channels = natural_channels(builder.graph.shape(node.inputs[0]));
    if channels != chain.channels {
        return Ok(false);
    }
    let graph = builder.graph;
    let parameter = |k: usize| {
        let elements = graph.constant(node.inputs[k]).and_then(|tensor| tensor.as_f32());
        elements.filter(|elements| elements.len() == channels).ok_or_else(|| {
            let name = &graph.value(node.inputs[k]).name;
            Reject::new(
                format!("parameter `{name}` is not a constant with one element per channel"),
                "export the model for inference",
            )
        })
    };
    let (scale, bias, mean, variance) = (parameter(1)?, parameter(2)?, parameter(3)?, parameter(4)?);
    let channel = norm.factors(scale, bias, mean, variance);
    let mut vectors = |what: &str, k: usize| {
        builder.constant_vectors(format!("{}/{what}", node.name), 1, channels, |_, c| channel[c][k] as f32)
    };
    let (factors, offsets) = (vectors("scale", 0)?, vectors("offset", 1)?);
    for (op, vectors) in [(SimdOp::Multiply, factors), (SimdOp::Add, offsets)] {
        chain.steps.push(Step::ChannelWise { op, operand: ChannelOperand::Blocks(vectors), swapped: false });
    }
    Ok(true)
}
