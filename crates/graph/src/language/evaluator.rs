//! [`Evaluator`]: logits of a text, token by token.

use std::sync::Arc;

use super::attention::Cache;
use super::layer::{attention, feed_forward, normalized};
use super::streams::Text;
use super::{DecoderError, Model};

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

    /// Removes the tokens after the first `count`. Later logits are the shorter text's.
    pub fn keep(&mut self, count: usize) {
        if count >= self.tokens.len() {
            return;
        }
        let of = &self.model.description;
        let differs = of.rotations.iter().any(|rotation| rotation.differs(count, self.tokens.len()));
        self.tokens.truncate(count);
        let values = if differs { 0 } else { count * of.kv_heads * of.head };
        for cache in &mut self.caches {
            cache.keys.truncate(values);
            cache.values.truncate(values);
        }
    }

    /// Returns the cached keys and values of the text, for [`Self::restore`].
    pub fn saved(&self) -> Vec<u8> {
        let parts = self.caches.iter().flat_map(|cache| [&cache.keys, &cache.values]);
        parts.flatten().flat_map(|value| value.to_le_bytes()).collect()
    }

    /// Replaces the text by one whose keys and values were saved. Returns false, and changes
    /// nothing, if they belong to another number of tokens, or are not finite.
    pub fn restore(&mut self, tokens: &[usize], saved: &[u8]) -> bool {
        let of = &self.model.description;
        let size = tokens.len() * of.kv_heads * of.head;
        let owners = (0..of.layers.len()).filter(|&layer| of.has_keys(layer));
        let fits = of.check_tokens(0, tokens).is_ok() && saved.len() == 2 * 4 * size * owners.count();
        let values: Vec<f32> = saved.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect();
        if !fits || !values.iter().all(|value| value.is_finite()) {
            return false;
        }
        self.tokens = tokens.to_vec();
        for (cache, parts) in self.caches.iter_mut().zip(values.chunks_exact(2 * size)) {
            let (keys, values) = parts.split_at(size);
            *cache = Cache { keys: keys.to_vec(), values: values.to_vec() };
        }
        true
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
        let is_empty = self.caches.first().is_some_and(|cache| cache.keys.is_empty());
        let again = before > 0 && (is_empty || of.rotations_differ(before, after));
        if again {
            self.caches.fill(Cache::default());
        }
        let first = if again { 0 } else { before };
        let mut x = self.embedded(first);
        if let Some(streams) = &of.streams {
            let text = Text { model: &model, streams, tokens: &self.tokens[first..], first };
            x = text.values(x, &mut self.caches);
        } else {
            for (index, layer) in model.layers.iter().enumerate() {
                let normed = normalized(&layer.attention_norm, &x);
                attention(&model, index, first, &mut self.caches, &normed, &mut x);
                feed_forward(&model, index, &mut x);
            }
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
