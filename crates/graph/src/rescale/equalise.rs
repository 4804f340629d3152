//! Powers of two between the channels of neighbouring layers: [`equalise`].
//!
//! Where one number format serves a whole tensor, a channel with small weights loses bits that its neighbours use. What
//! a convolution gives in channel `c` may be divided by `2^k` when the next one multiplies it by as much: its weights
//! for `c` then are `2^k` times as large. With `k` half the difference of the logarithms, both are alike in size
//! (Nagel, van Baalen, Blankevoort and Welling, "Data-free quantization through weight equalization and bias
//! correction", 2019, there with any factor).

use std::sync::Arc;

use npukit_numeric::Tensor;

use crate::ir::{Graph, Node, NodeId, ValueId};
use crate::op::Op;
use crate::pass::PassError;

/// Times that all pairs are gone through: what one pair changes, the next one may want to change again.
const SWEEPS: usize = 3;

/// The most that a channel is moved by against the others.
const MAX: f64 = 12.0;

/// A graph whose pairs of convolutions have weights alike in size in each channel between them. It computes the
/// same in real arithmetic, and has the same nodes; values between the two convolutions of a changed pair are
/// called `NAME/equalised`. `None` when there is nothing to change.
///
/// # Errors
///
/// [`PassError`] when the rewritten graph is not valid, which would be a fault of ours.
pub fn equalise(graph: &Graph) -> Result<Option<Graph>, PassError> {
    let pairs = pairs(graph);
    let (mut graph, mut changed) = (graph.clone(), vec![false; pairs.len()]);
    for _ in 0..SWEEPS {
        for (pair, changed) in pairs.iter().zip(&mut changed) {
            *changed |= pair.equalise(&mut graph);
        }
    }
    let touched = pairs.iter().zip(&changed).filter(|(_, changed)| **changed).map(|(pair, _)| pair);
    let between: Vec<ValueId> = touched.flat_map(|pair| pair.between.iter().copied()).collect();
    for id in &between {
        let name = &mut graph.values[id.0 as usize].name;
        name.push_str("/equalised");
    }
    graph.validate()?;
    Ok((!between.is_empty()).then_some(graph))
}

/// Two convolutions with nothing between them that mixes channels or knows their scale.
struct Pair {
    /// Constants of the first one: weights, and what it adds.
    first: Vec<ValueId>,
    /// Weights of the second one.
    second: ValueId,
    /// Whether the second has a filter for each channel: these are the last axis then.
    depthwise: bool,
    /// From the first one's result to the second one's operand.
    between: Vec<ValueId>,
}

fn pairs(graph: &Graph) -> Vec<Pair> {
    let consumers = graph.consumers();
    graph.nodes.iter().filter_map(|node| pair(graph, &consumers, node)).collect()
}

/// The pair that begins with a node.
fn pair(graph: &Graph, consumers: &[Vec<NodeId>], node: &Node) -> Option<Pair> {
    let own = |id: &ValueId| graph.constant(*id).is_some() && consumers[id.0 as usize].len() == 1;
    if !matches!(node.op, Op::Conv(_)) || !node.inputs[1..].iter().all(own) {
        return None;
    }
    let mut between = vec![*node.outputs.first()?];
    loop {
        let last = *between.last()?;
        let &[reader] = consumers[last.0 as usize].as_slice() else { return None };
        let reader = graph.node(reader);
        if graph.is_output(last) {
            return None;
        }
        match &reader.op {
            Op::Relu(_) | Op::LeakyRelu(_) | Op::MaxPool(_) | Op::AveragePool(_) => {
                between.push(*reader.outputs.first()?);
            }
            Op::Conv(conv) => {
                let second = *reader.inputs.get(1).filter(|id| own(id))?;
                let &[_, _, per_group, filters] = graph.shape(second) else { return None };
                let depthwise = per_group == 1 && filters == conv.group;
                let fits = reader.inputs.first() == Some(&last) && (conv.group == 1 || depthwise);
                return fits.then(|| Pair { first: node.inputs[1..].to_vec(), second, depthwise, between });
            }
            _ => return None,
        }
    }
}

impl Pair {
    /// Changes the constants; tells whether there was something to change.
    fn equalise(&self, graph: &mut Graph) -> bool {
        let Some(powers) = self.powers(graph) else { return false };
        for &id in &self.first {
            scale(graph, id, |channel| -powers[channel], |place, count| place % count, powers.len());
        }
        // `pair` has seen its four axes, the filters last.
        let (filters, depthwise) = (graph.shape(self.second)[3], self.depthwise);
        let of_second = |place: usize, count: usize| channel(place, filters, count, depthwise);
        scale(graph, self.second, |channel| powers[channel], of_second, powers.len());
        true
    }

    /// The exponent of each channel; none when all are 0.
    fn powers(&self, graph: &Graph) -> Option<Vec<i32>> {
        let (first, second) = (graph.constant(*self.first.first()?)?, graph.constant(self.second)?);
        let count = *first.shape().last()?;
        let filters = *second.shape().last()?;
        let gives = largest(first, count, |place| place % count);
        let takes = largest(second, count, |place| channel(place, filters, count, self.depthwise));
        let wanted = |(gives, takes): (&f32, &f32)| {
            let known = *gives > 0.0 && *takes > 0.0;
            known.then(|| (f64::from(*gives).log2() - f64::from(*takes).log2()) / 2.0)
        };
        let wanted: Vec<Option<f64>> = gives.iter().zip(&takes).map(wanted).collect();
        let known: Vec<f64> = wanted.iter().flatten().copied().collect();
        // What all channels have in common is for the scale of the layer.
        let mean = known.iter().sum::<f64>() / known.len().max(1) as f64;
        let power = |wanted: Option<f64>| (wanted.unwrap_or(mean) - mean).clamp(-MAX, MAX).round() as i32;
        let powers: Vec<i32> = wanted.into_iter().map(power).collect();
        powers.iter().any(|&power| power != 0).then_some(powers)
    }
}

/// The channel of the second convolution's operand that the weight at a place multiplies.
fn channel(place: usize, filters: usize, count: usize, depthwise: bool) -> usize {
    if depthwise { place % count } else { place / filters % count }
}

/// The elements of a constant of a convolution.
fn floats(constant: &Tensor) -> &[f32] {
    constant.as_f32().expect("convolutions take floats only")
}

/// The largest magnitude of each channel.
fn largest(weights: &Tensor, count: usize, channel: impl Fn(usize) -> usize) -> Vec<f32> {
    let mut largest = vec![0f32; count];
    for (place, x) in floats(weights).iter().enumerate().filter(|(_, x)| x.is_finite()) {
        let most = &mut largest[channel(place)];
        *most = most.max(x.abs());
    }
    largest
}

/// Multiplies the elements of a constant by powers of two, by the channel of each.
fn scale(
    graph: &mut Graph,
    id: ValueId,
    power: impl Fn(usize) -> i32,
    channel: impl Fn(usize, usize) -> usize,
    count: usize,
) {
    let Some(constant) = graph.constant(id) else { return };
    let values = floats(constant).iter().enumerate();
    let scaled =
        values.map(|(place, &x)| (f64::from(x) * f64::from(power(channel(place, count))).exp2()) as f32);
    if let Ok(scaled) = Tensor::from_f32(constant.shape().to_vec(), scaled.collect()) {
        graph.values[id.0 as usize].constant = Some(Arc::new(scaled));
    }
}
