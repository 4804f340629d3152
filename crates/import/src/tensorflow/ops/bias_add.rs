//! BiasAdd: adds one number per channel.

use npukit_graph::ValueId;
use npukit_graph::op::{Binary, BinaryKind};

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (x, bias) = (context.input(0, "value")?, context.input(1, "bias")?);
    let (shape, channels) = (context.shape(x).to_vec(), context.shape(bias).to_vec());
    let (rank, &[count]) = (shape.len(), &channels[..]) else {
        return Err(wrong_bias(&channels, "a vector"));
    };
    let axis = match context.attributes.string("data_format")?.as_deref() {
        None | Some("NHWC") => rank.checked_sub(1),
        Some("NCHW") => Some(1),
        Some(other) => return Err(unsupported("data_format", other, "NHWC or NCHW")),
    };
    let Some(axis) = axis.filter(|&axis| shape.get(axis) == Some(&count)) else {
        return Err(wrong_bias(&channels, &format!("a number for each channel of {shape:?}")));
    };
    let mut spread = vec![1; rank - axis];
    spread[0] = count;
    let bias = context.reshaped("bias", bias, spread)?;
    Ok(vec![context.emit(Binary { kind: BinaryKind::Add }, vec![x, bias])?])
}

fn wrong_bias(found: &[usize], legal: &str) -> Reason {
    Reason::OperandValue { operand: "bias", found: format!("{found:?}"), legal: legal.to_owned() }
}
