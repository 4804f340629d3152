//! [`Evaluator`]: logits of a text, token by token.

use std::sync::Arc;

use super::attention::{Cache, Turns, attend};
use super::weights::{Layer, Linear, Norm};
use super::{Activation, DecoderError, LayerForm, Model};
use crate::op::UnaryKind;

/// Evaluation of a text in `f32`, with a cache of keys and values.
///
/// If rotations depend on the length of the text (see [`Scaling`](super::Scaling)), and a token
/// changes them, then the whole text is computed again. The logits thus only depend on the text,
/// not on how it was divided.
#[derive(Clone, Debug)]
pub struct Evaluator {
    model: Arc<Model>,
    tokens: Vec<usize>,
    caches: Vec<Cache>,
}

impl Evaluator {
    /// Creates an empty text.
    pub fn new(model: Arc<Model>) -> Self {
        let caches = vec![Cache::default(); model.layers.len()];
        Self { model, tokens: Vec::new(), caches }
    }

    /// The model.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Removes all tokens.
    pub fn reset(&mut self) {
        self.tokens.clear();
        self.caches.fill(Cache::default());
    }

    /// Adds tokens to the text, and returns the logits after the last one, `[vocabulary]`.
    ///
    /// # Errors
    ///
    /// The errors of [`Description::check_tokens`](super::Description::check_tokens). On an error,
    /// no token is added.
    pub fn take(&mut self, tokens: &[usize]) -> Result<Vec<f32>, DecoderError> {
        let values = self.values(tokens)?;
        Ok(self.logits(&values[values.len() - self.model.description.hidden..]))
    }

    /// Adds tokens to the text, and returns the logits after each of them, `[tokens, vocabulary]`.
    ///
    /// # Errors
    ///
    /// Like [`Self::take`].
    pub fn take_all(&mut self, tokens: &[usize]) -> Result<Vec<f32>, DecoderError> {
        let values = self.values(tokens)?;
        Ok(self.logits(&values))
    }

    /// Returns the values of the new tokens after the last layer, `[tokens, hidden]`.
    fn values(&mut self, tokens: &[usize]) -> Result<Vec<f32>, DecoderError> {
        let model = Arc::clone(&self.model);
        let of = &model.description;
        of.check_tokens(self.tokens.len(), tokens)?;
        let (before, after) = (self.tokens.len(), self.tokens.len() + tokens.len());
        self.tokens.extend(tokens);
        let again = of.rotations_differ(before, after);
        if again {
            self.caches.fill(Cache::default());
        }
        let first = if again { 0 } else { before };
        let mut x = self.embedded(first);
        for ((layer, form), cache) in model.layers.iter().zip(&of.layers).zip(&mut self.caches) {
            attention(&model, layer, *form, first, cache, &mut x);
            feed_forward(&model, layer, &mut x);
        }
        Ok(x.split_off((before - first) * of.hidden))
    }

    /// Returns the values of the tokens starting at position `first` before the first layer.
    fn embedded(&self, first: usize) -> Vec<f32> {
        let tokens = self.tokens.iter().enumerate().skip(first);
        tokens.flat_map(|(position, &token)| self.model.embedded(token, position)).collect()
    }

    /// Returns the logits for values after the last layer.
    fn logits(&self, values: &[f32]) -> Vec<f32> {
        let mut logits = self.model.head.apply(&normalized(&self.model.final_norm, values));
        self.model.description.cap_logits(&mut logits);
        logits
    }
}

/// Adds the attention of a layer to the values `x` of the tokens starting at position `first`.
fn attention(model: &Model, layer: &Layer, form: LayerForm, first: usize, cache: &mut Cache, x: &mut [f32]) {
    let of = &model.description;
    let normed = normalized(&layer.attention_norm, x);
    let with_norm = |matrix: &Linear, norm: &Option<Norm>| {
        let mut heads = matrix.apply(&normed);
        norm.iter().for_each(|norm| norm.apply(&mut heads));
        heads
    };
    let mut queries = with_norm(&layer.query, &layer.query_norm);
    let mut keys = with_norm(&layer.key, &layer.key_norm);
    if let Some(rotation) = form.rotation.map(|index| &of.rotations[index]) {
        let turns = Turns::new(rotation, of.pairs, first, x.len() / of.hidden);
        turns.apply(&mut queries, of.heads, of.head);
        turns.apply(&mut keys, of.kv_heads, of.head);
    }
    cache.keys.append(&mut keys);
    cache.values.append(&mut layer.value.apply(&normed));
    let mut results = layer.output.apply(&attend(of, form, &queries, cache));
    layer.after_attention.iter().for_each(|norm| norm.apply(&mut results));
    add(x, &results);
}

/// Adds the feed-forward part of a layer to the values `x`.
fn feed_forward(model: &Model, layer: &Layer, x: &mut [f32]) {
    let activation = function(model.description.activation);
    let normed = normalized(&layer.feed_forward_norm, x);
    let mut inner = layer.up.apply(&normed);
    match &layer.gate {
        None => inner.iter_mut().for_each(|x| *x = activation(*x)),
        Some(gate) => {
            let gates = gate.apply(&normed);
            inner.iter_mut().zip(gates).for_each(|(x, gate)| *x *= activation(gate));
        }
    }
    let mut results = layer.down.apply(&inner);
    layer.after_feed_forward.iter().for_each(|norm| norm.apply(&mut results));
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

fn normalized(norm: &Norm, x: &[f32]) -> Vec<f32> {
    let mut x = x.to_vec();
    norm.apply(&mut x);
    x
}

pub(super) fn add(x: &mut [f32], other: &[f32]) {
    x.iter_mut().zip(other).for_each(|(x, other)| *x += other);
}
