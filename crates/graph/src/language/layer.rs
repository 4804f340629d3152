//! Parts of a layer of a decoder: [`attention`] and [`feed_forward`].

use super::attention::{Cache, Turns, attend};
use super::weights::{Layer, Linear, Norm};
use super::{Activation, Description, LayerForm, Model};
use crate::op::UnaryKind;

/// Adds the attention of a layer to the values `x` of the tokens starting at position `first`,
/// which were normalized to `normed`.
pub(super) fn attention(
    model: &Model,
    index: usize,
    first: usize,
    caches: &mut [Cache],
    normed: &[f32],
    x: &mut [f32],
) {
    let (of, layer) = (&model.description, &model.layers[index]);
    // Default: a description was checked, so each layer has a source.
    let cache = &mut caches[of.kv_source(index).unwrap_or(index)];
    let attended = attended(of, layer, of.layers[index], first, cache, normed);
    add_part(&layer.output, &layer.after_attention, &attended, x);
}

/// Returns the attention of tokens with the normalized values `normed` to all tokens so far,
/// `[tokens, heads * head]`. A layer without keys reads what another layer left in `cache`.
pub(super) fn attended(
    of: &Description,
    layer: &Layer,
    form: LayerForm,
    first: usize,
    cache: &mut Cache,
    normed: &[f32],
) -> Vec<f32> {
    let with_norm = |matrix: &Linear, norm: &Option<Norm>| {
        let mut heads = matrix.apply(normed);
        norm.iter().for_each(|norm| norm.apply(&mut heads));
        heads
    };
    let rotation = form.rotation.map(|index| &of.rotations[index]);
    let turns = rotation.map(|rotation| Turns::new(rotation, of.pairs, first, normed.len() / of.hidden));
    let mut queries = with_norm(&layer.query, &layer.query_norm);
    turns.iter().for_each(|turns| turns.apply(&mut queries, of.heads, of.head));
    if let (Some(key), Some(value)) = (&layer.key, &layer.value) {
        let mut keys = with_norm(key, &layer.key_norm);
        turns.iter().for_each(|turns| turns.apply(&mut keys, of.kv_heads, of.head));
        cache.keys.append(&mut keys);
        cache.values.append(&mut with_norm(value, &layer.value_norm));
    }
    attend(of, form, &queries, cache)
}

/// Adds the feed-forward part of a layer to the values `x`.
pub(super) fn feed_forward(model: &Model, index: usize, x: &mut [f32]) {
    let (of, layer) = (&model.description, &model.layers[index]);
    // Default: models without streams have no limits.
    let limit = of.streams.as_ref().and_then(|streams| streams.gate_deviations[index]);
    let inner = activated(of, layer, limit, &normalized(&layer.feed_forward_norm, x));
    add_part(&layer.down, &layer.after_feed_forward, &inner, x);
}

/// Returns the inputs of the last matrix of a feed-forward part, `[tokens, feed_forward]`. A gate
/// must exceed the mean by `limit` standard deviations.
pub(super) fn activated(of: &Description, layer: &Layer, limit: Option<f32>, normed: &[f32]) -> Vec<f32> {
    let activation = function(of.activation);
    let mut inner = layer.up.apply(normed);
    match &layer.gate {
        None => inner.iter_mut().for_each(|x| *x = activation(*x)),
        Some(gate) => {
            let mut gates = gate.apply(normed);
            limit.iter().for_each(|&limit| keep_largest(&mut gates, of.feed_forward, limit));
            inner.iter_mut().zip(gates).for_each(|(x, gate)| *x *= activation(gate));
        }
    }
    inner
}

/// Adds the results of a part's last matrix to the values `x`, with the part's norm if it has one.
pub(super) fn add_part(matrix: &Linear, norm: &Option<Norm>, inputs: &[f32], x: &mut [f32]) {
    let mut results = matrix.apply(inputs);
    norm.iter().for_each(|norm| norm.apply(&mut results));
    add(x, &results);
}

/// Returns the activation function.
pub(super) fn function(activation: Activation) -> impl Fn(f32) -> f32 {
    move |x| match activation {
        Activation::Gelu(form) => UnaryKind::Gelu { form }.apply(x),
        Activation::Silu => UnaryKind::Swish { alpha: 1.0 }.apply(x),
        Activation::Relu => x.max(0.0),
    }
}

pub(super) fn normalized(norm: &Norm, x: &[f32]) -> Vec<f32> {
    let mut x = x.to_vec();
    norm.apply(&mut x);
    x
}

pub(super) fn add(x: &mut [f32], other: &[f32]) {
    x.iter_mut().zip(other).for_each(|(x, other)| *x += other);
}

/// Subtracts a number of standard deviations above their mean from the `size` gates of each token.
/// Negative results become 0.
fn keep_largest(gates: &mut [f32], size: usize, deviations: f32) {
    for gates in gates.chunks_exact_mut(size) {
        let mean = |sum: f64| sum / size as f64;
        let center = mean(gates.iter().map(|&gate| f64::from(gate)).sum());
        let variance = mean(gates.iter().map(|&gate| (f64::from(gate) - center).powi(2)).sum());
        let limit = (center + variance.sqrt() * f64::from(deviations)) as f32;
        gates.iter_mut().for_each(|gate| *gate = (*gate - limit).max(0.0));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn small_gates_become_0() {
        let mut gates = [1.0, 3.0];
        keep_largest(&mut gates, 2, 0.5);
        assert_eq!(gates, [0.0, 0.5]);
    }
}
