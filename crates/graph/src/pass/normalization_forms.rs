//! Layer and RMS normalization that exporters write as reductions and arithmetic.

use super::edit::{add_floats, floats, has_single_use};
use super::matching::Pattern;
use super::{Pass, PassError};
use crate::ir::{Graph, Node, ValueId};
use crate::op::{BinaryKind, LayerNormalization, Op, ReduceKind, RmsNormalization, UnaryKind};
use crate::shape::{broadcast, broadcast_strides, gather_strided};

pub(super) const PASS: Pass = Pass {
    name: "normalization-forms",
    description: "recognizes layer and RMS normalization written as reductions and arithmetic",
    run,
};

fn run(graph: &mut Graph) -> Result<bool, PassError> {
    let (producers, consumers) = (graph.producers(), graph.consumers());
    let mut changed = false;
    for index in 0..graph.nodes.len() {
        let pattern = Pattern { graph, producers: &producers };
        let &[result] = graph.nodes[index].outputs.as_slice() else { continue };
        if let Some(found) = quotient(&pattern, result) {
            put(graph, index, found)?;
            changed = true;
        } else if let Some((before, constant)) = parameter(&pattern, result)
            && has_single_use(graph, &consumers, before)
            && let Some(producer) = producers[before.0 as usize]
        {
            let node = graph.node(producer).clone();
            changed |= absorb(graph, index, &node, constant)?;
        }
    }
    Ok(changed)
}

/// A normalization without parameters.
struct NormalizationForm {
    x: ValueId,
    axis: usize,
    epsilon: f32,
    /// Whether the mean is subtracted first.
    centered: bool,
}

/// Matches `d / sqrt(mean(d^2) + epsilon)`, where `d` is `x` or `x - mean(x)`.
fn quotient(pattern: &Pattern<'_>, value: ValueId) -> Option<NormalizationForm> {
    let (numerator, root) = split(pattern, value)?;
    let (variance, epsilon) = pattern.with_scalar(root, BinaryKind::Add)?;
    let (square, axis) = mean(pattern, variance)?;
    if pattern.square(square)? != numerator
        || pattern.graph.value(numerator).info != pattern.graph.value(value).info
    {
        return None;
    }
    let epsilon = epsilon as f32;
    if let Some([x, average]) = pattern.binary(numerator, BinaryKind::Sub)
        && mean(pattern, average) == Some((x, axis))
    {
        return Some(NormalizationForm { x, axis, epsilon, centered: true });
    }
    Some(NormalizationForm { x: numerator, axis, epsilon, centered: false })
}

/// Returns `d` and `s` of `d / sqrt(s)`, `d * (1 / sqrt(s))` or `d * s^-0.5`.
fn split(pattern: &Pattern<'_>, value: ValueId) -> Option<(ValueId, ValueId)> {
    let root =
        |value| pattern.unary(value).filter(|(kind, _)| *kind == UnaryKind::Sqrt).map(|(_, inner)| inner);
    if let Some([numerator, divisor]) = pattern.binary(value, BinaryKind::Div) {
        return Some((numerator, root(divisor)?));
    }
    let inverse = |value| match pattern.unary(value) {
        Some((UnaryKind::Reciprocal, inner)) => root(inner),
        _ => match pattern.binary(value, BinaryKind::Div) {
            Some([one, divisor]) if pattern.scalar(one) == Some(1.0) => root(divisor),
            _ => pattern.power(value, -0.5),
        },
    };
    let [left, right] = pattern.binary(value, BinaryKind::Mul)?;
    match inverse(right) {
        Some(inner) => Some((left, inner)),
        None => Some((right, inverse(left)?)),
    }
}

/// Returns the operand of a mean over trailing axes, and the first of these axes.
fn mean(pattern: &Pattern<'_>, value: ValueId) -> Option<(ValueId, usize)> {
    let node = pattern.producer(value)?;
    let (Op::Reduce(reduce), &[operand]) = (&node.op, node.inputs.as_slice()) else { return None };
    let axis = *reduce.axes.first()?;
    let trailing = reduce.axes.iter().copied().eq(axis..pattern.graph.shape(operand).len());
    (reduce.kind == ReduceKind::Mean && reduce.keep_dims && trailing).then_some((operand, axis))
}

/// Turns the node at `index` into the normalization, with a scale of ones.
fn put(graph: &mut Graph, index: usize, found: NormalizationForm) -> Result<(), PassError> {
    let NormalizationForm { x, axis, epsilon, centered } = found;
    let shape = graph.shape(x)[axis..].to_vec();
    let ones = vec![1.0; shape.iter().product()];
    let name = format!("{}_scale", graph.nodes[index].name);
    let scale = add_floats(graph, &name, shape, ones)?;
    let op: Op = match centered {
        true => LayerNormalization { axis, epsilon }.into(),
        false => RmsNormalization { axis, epsilon }.into(),
    };
    (graph.nodes[index].op, graph.nodes[index].inputs) = (op, vec![x, scale]);
    Ok(())
}

/// Returns the operand and the constant of a product or sum.
fn parameter(pattern: &Pattern<'_>, value: ValueId) -> Option<(ValueId, ValueId)> {
    let product = pattern.binary(value, BinaryKind::Mul).or_else(|| pattern.binary(value, BinaryKind::Add));
    let [left, right] = product?;
    match (floats(pattern.graph, left), floats(pattern.graph, right)) {
        (None, Some(_)) => Some((left, right)),
        (Some(_), None) => Some((right, left)),
        _ => None,
    }
}

/// Folds a product with or a sum with a constant, the node at `index`, into the scale or bias of
/// the normalization before it. Returns whether it could.
fn absorb(graph: &mut Graph, index: usize, before: &Node, constant: ValueId) -> Result<bool, PassError> {
    let (axis, takes_bias) = match &before.op {
        Op::LayerNormalization(op) => (op.axis, true),
        Op::RmsNormalization(op) => (op.axis, false),
        _ => return Ok(false),
    };
    let Op::Binary(binary) = &graph.nodes[index].op else { return Ok(false) };
    let multiplies = binary.kind == BinaryKind::Mul;
    let trailing = graph.shape(before.outputs[0])[axis..].to_vec();
    let Some(values) = spread(graph, constant, &trailing) else { return Ok(false) };
    let part = if multiplies { 1 } else { 2 };
    let old = before.inputs.get(part).map(|&id| spread(graph, id, &trailing));
    // The scale comes before the bias, and only constant parameters can be changed.
    if matches!(old, Some(None)) || multiplies && before.inputs.len() > 2 || !multiplies && !takes_bias {
        return Ok(false);
    }
    let combine = |(new, old): (&f32, f32)| if multiplies { new * old } else { new + old };
    let values = match old.flatten() {
        Some(old) => values.iter().zip(old).map(combine).collect(),
        None => values,
    };
    let name = graph.value(constant).name.clone();
    let parameter = add_floats(graph, &name, trailing, values)?;
    let mut inputs = before.inputs.clone();
    inputs.truncate(part);
    inputs.push(parameter);
    (graph.nodes[index].op, graph.nodes[index].inputs) = (before.op.clone(), inputs);
    Ok(true)
}

/// Returns a constant broadcast to the positions of the trailing axes.
fn spread(graph: &Graph, constant: ValueId, trailing: &[usize]) -> Option<Vec<f32>> {
    let (values, shape) = (floats(graph, constant)?, graph.shape(constant));
    // Leading axes of size 1 do not matter.
    let extra = shape.len().saturating_sub(trailing.len());
    let (front, own) = shape.split_at(extra);
    let fits = front.iter().all(|&size| size == 1) && broadcast(trailing, own).as_deref() == Some(trailing);
    fits.then(|| gather_strided(values, 0, trailing, &broadcast_strides(own, trailing)))
}
