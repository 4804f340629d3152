//! BatchNormalization, with the given statistics or, in training mode, with the statistics of its
//! operand, which then update the running ones. The channels become the last axis.

use npukit_graph::ValueId;
use npukit_graph::op::{BatchNormalization, BinaryKind, ReduceKind};

use super::super::attributes::unsupported;
use super::super::channels::by_channel;
use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let mut operands = vec![context.input(0, "X")?];
    for (index, name) in (1..).zip(["scale", "B", "mean", "var"]) {
        operands.push(context.input(index, name)?);
    }
    let epsilon = context.attributes.float_or("epsilon", 1e-5)?;
    let momentum = context.attributes.float_or("momentum", 0.9)?; // of training
    if context.opset < 9 && !context.attributes.flag("spatial", true)? {
        return Err(unsupported("spatial", 0, "1"));
    }
    if !context.attributes.flag("training_mode", false)? {
        return by_channel(context, BatchNormalization { epsilon }, operands);
    }
    let (x, rank) = (operands[0], context.shape(operands[0]).len());
    let axes: Vec<usize> = (0..rank).filter(|&axis| axis != 1).collect();
    let mean = context.reduce(ReduceKind::Mean, x, axes.clone(), true)?;
    let centered = context.binary(BinaryKind::Sub, x, mean)?;
    let squares = context.binary(BinaryKind::Mul, centered, centered)?;
    let variance = context.reduce(ReduceKind::Mean, squares, axes, false)?;
    let channels = context.shape(variance).to_vec();
    let mean = context.reshape(mean, channels)?;
    let kept = [(operands[3], mean), (operands[4], variance)];
    (operands[3], operands[4]) = (mean, variance);
    let mut results = by_channel(context, BatchNormalization { epsilon }, operands)?;
    for (old, new) in kept {
        let (share, rest) = (context.scalar(old, momentum)?, context.scalar(new, 1.0 - momentum)?);
        let (old, new) =
            (context.binary(BinaryKind::Mul, old, share)?, context.binary(BinaryKind::Mul, new, rest)?);
        results.push(context.binary(BinaryKind::Add, old, new)?);
    }
    Ok(results)
}
