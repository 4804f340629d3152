//! NegativeLogLikelihoodLoss and SoftmaxCrossEntropyLoss, which differ by a LogSoftmax.

use npukit_graph::ValueId;
use npukit_graph::op::{
    BinaryKind, CompareKind, Gather, GatherElements, LogSoftmax, ReduceKind, Reshape, UnaryKind,
};
use npukit_numeric::ElementType;

use super::super::attributes::unsupported;
use super::super::context::Context;
use super::super::error::Reason;

/// Adds the operators of one node to the graph and returns its results.
pub(super) fn translate(context: &mut Context<'_>) -> Result<Vec<ValueId>, Reason> {
    let (x, target) = (context.input(0, "input")?, context.input(1, "target")?);
    let shape = context.shape(x).to_vec();
    let of_target = [&shape[..1.min(shape.len())], shape.get(2..).unwrap_or(&[])].concat(); // Default: refused below.
    if shape.len() < 2 || context.shape(target) != of_target {
        let (found, legal) =
            (format!("{:?}", context.shape(target)), format!("{shape:?} without its axis 1"));
        return Err(Reason::OperandValue { operand: "target", found, legal });
    }
    if context.op_type() == "NegativeLogLikelihoodLoss" {
        return Ok(vec![likelihood(context, x, target, &of_target)?]);
    }
    let logarithms = context.helper("log_prob", LogSoftmax { axis: 1, axis_end: 2 }, vec![x])?;
    Ok(vec![likelihood(context, logarithms, target, &of_target)?, logarithms])
}

/// Returns the loss of log-probabilities `[n, c, ..]` for the targets `[n, ..]`.
fn likelihood(
    context: &mut Context<'_>,
    x: ValueId,
    target: ValueId,
    shape: &[usize],
) -> Result<ValueId, Reason> {
    let weights = context.optional(2);
    let target = context.cast(target, ElementType::I64)?;
    let ignored = match context.attributes.int("ignore_index")? {
        None => None,
        Some(index) => {
            let index = context.indices(Vec::new(), vec![index])?;
            Some(context.compare(CompareKind::Equal, target, index)?)
        }
    };
    // An ignored target need not be a valid class. Class 0 replaces it, with weight 0.
    let class = match ignored {
        None => target,
        Some(ignored) => {
            let first = context.indices(Vec::new(), vec![0])?;
            context.choose(ignored, first, target)?
        }
    };
    let apart = [&shape[..1], &[1], &shape[1..]].concat();
    let indices = context.helper("classes", Reshape { shape: apart }, vec![class])?;
    let found = context.helper("shares", GatherElements { axis: 1 }, vec![x, indices])?;
    let found = context.reshape(found, shape.to_vec())?;
    let mut loss = context.unary(UnaryKind::Neg, found)?;
    if let Some(ignored) = ignored {
        let zero = context.scalar(x, 0.0)?;
        loss = context.choose(ignored, zero, loss)?;
    }
    let weight = weight(context, x, weights, class, ignored)?;
    let loss = match weight {
        Some(weight) => context.binary(BinaryKind::Mul, loss, weight)?,
        None => loss,
    };
    reduced(context, loss, weight)
}

/// Weight of each target; `None` if all are 1.
fn weight(
    context: &mut Context<'_>,
    x: ValueId,
    weights: Option<ValueId>,
    class: ValueId,
    ignored: Option<ValueId>,
) -> Result<Option<ValueId>, Reason> {
    let own = match weights {
        Some(weights) => Some(context.helper("weights", Gather { axis: 0 }, vec![weights, class])?),
        None => None,
    };
    let Some(ignored) = ignored else { return Ok(own) };
    let own = own.map_or_else(|| context.scalar(x, 1.0), Ok)?;
    let zero = context.scalar(x, 0.0)?;
    Ok(Some(context.choose(ignored, zero, own)?))
}

/// Applies attribute `reduction`; a mean is weighted.
fn reduced(context: &mut Context<'_>, loss: ValueId, weight: Option<ValueId>) -> Result<ValueId, Reason> {
    let reduction = context.attributes.string("reduction")?;
    let axes = |context: &Context<'_>, id: ValueId| (0..context.shape(id).len()).collect::<Vec<_>>();
    let all = axes(context, loss);
    match (reduction.as_deref(), weight) {
        (Some("none"), _) => Ok(loss),
        (Some("sum"), _) => context.reduce(ReduceKind::Sum, loss, all, false),
        (None | Some("mean"), None) => context.reduce(ReduceKind::Mean, loss, all, false),
        (None | Some("mean"), Some(weight)) => {
            let loss = context.reduce(ReduceKind::Sum, loss, all, false)?;
            let of_weight = axes(context, weight);
            let weight = context.reduce(ReduceKind::Sum, weight, of_weight, false)?;
            context.binary(BinaryKind::Div, loss, weight)
        }
        (Some(other), _) => Err(unsupported("reduction", other, "none, sum or mean")),
    }
}
