//! Graphs of a decoder: a whole prompt at once, or one more token with a key-value cache.

mod net;

use npukit_numeric::{ElementType, TensorData};

use super::{DecoderError, DecoderModel};
use crate::ir::{Graph, ValueId};
use crate::op::{Compare, CompareKind, Gather};
use net::Net;

/// Longest prompt of a graph: its mask has the square of that number of elements.
const MAX_PROMPT: usize = 8192;

impl DecoderModel {
    /// Returns the graph of a prompt of `length` tokens, at most 8192: [`DecoderModel::extend`]
    /// with an empty cache.
    ///
    /// Input: `tokens` of i64 `[length]`. Outputs: `logits [length, vocabulary]`, then for each
    /// layer `layers.I.keys` and `layers.I.values`, `[kv_heads, length, head]`, the entries for the
    /// cache.
    ///
    /// # Errors
    ///
    /// See [`DecoderModel::extend`].
    pub fn prefill(&self, length: usize) -> Result<Graph, DecoderError> {
        self.extend(0, length)
    }

    /// Returns the graph of `length` more tokens, at most 8192, after exactly `cache` others.
    ///
    /// Inputs: `tokens` of i64 `[length]`, then, unless `cache` is 0, for each layer
    /// `layers.I.cached_keys` and `layers.I.cached_values`, `[kv_heads, cache, head]`. Outputs:
    /// `logits [length, vocabulary]`, then for each layer `layers.I.keys` and `layers.I.values`,
    /// `[kv_heads, length, head]`, the new entries for the cache.
    ///
    /// # Errors
    ///
    /// [`DecoderError::NoTokens`] for a `length` of 0; [`DecoderError::TooLong`] beyond 8192 or the
    /// model's context; [`DecoderError::Op`] if weights do not fit together.
    pub fn extend(&self, cache: usize, length: usize) -> Result<Graph, DecoderError> {
        let config = self.config();
        self.check_length(cache, length, config.context)?;
        self.check_length(0, length, MAX_PROMPT)?;
        let mut net = Net::new(self, length);
        let tokens = net.builder.input("tokens", vec![length], ElementType::I64);
        let caches = if cache == 0 { Vec::new() } else { self.caches(cache, &mut net) };
        // A single token sees all keys.
        if length > 1 {
            let count = cache + length;
            let causal = (0..length * count).map(|i| i % count <= cache + i / count).collect();
            let causal = net.builder.constant("causal", vec![length, count], TensorData::Bool(causal))?;
            net.hide(causal)?;
        }
        if let Some(tables) = config.rotations(cache, length) {
            let shape = vec![1, length, config.head / 2];
            net.rotation = Some(net.tables(tables, &shape)?);
        }
        let mut x = net.embedded(tokens)?;
        if let Some(positions) = self.positions() {
            let (first, columns) = (cache * positions.columns(), positions.columns());
            let part = positions.values().iter().skip(first).take(length * columns).copied().collect();
            let part = net.builder.constant(&positions.name, vec![length, columns], TensorData::F32(part))?;
            x = net.builder.add("placed", x, part)?;
        }
        net.finish(x, &caches)
    }

    /// Adds the inputs for each layer's cached keys and values, `[kv_heads, cache, head]`.
    fn caches(&self, cache: usize, net: &mut Net<'_>) -> Vec<[ValueId; 2]> {
        let shape = [self.config().kv_heads, cache, self.config().head];
        let mut input = |name: String| net.builder.input(&name, shape.to_vec(), ElementType::F32);
        (0..self.config().layers)
            .map(|i| ["keys", "values"].map(|part| input(format!("layers.{i}.cached_{part}"))))
            .collect()
    }

    /// Returns the graph of one more token after at most `cache` others.
    ///
    /// Inputs: `token` of i64 `[1]`, `position` of i64 `[1]`, 0 to `cache`, then for each layer
    /// `layers.I.cached_keys` and `layers.I.cached_values`, `[kv_heads, cache, head]`; only
    /// positions below `position` are used. Outputs: `logits [1, vocabulary]`, then for each layer
    /// `layers.I.keys` and `layers.I.values`, `[kv_heads, 1, head]`, the new cache entries at
    /// `position`.
    ///
    /// # Errors
    ///
    /// [`DecoderError::TooLong`] if a token after `cache` others is beyond the model's context;
    /// [`DecoderError::Op`] if weights do not fit together.
    pub fn decode(&self, cache: usize) -> Result<Graph, DecoderError> {
        self.check_length(cache, 1, self.config().context)?;
        let config = self.config();
        let mut net = Net::new(self, 1);
        let token = net.builder.input("token", vec![1], ElementType::I64);
        let position = net.builder.input("position", vec![1], ElementType::I64);
        let caches = self.caches(cache, &mut net);
        // The token's own keys come last, whatever its position; they are always visible.
        let places = (0..cache as i64).chain([-1]).collect();
        let places = net.builder.constant("places", vec![1, cache + 1], TensorData::I64(places))?;
        let reached = Compare { kind: CompareKind::Less };
        let reached = net.builder.emit("reached", reached, vec![places, position])?;
        net.hide(reached)?;
        if let Some(tables) = config.rotations(0, cache + 1) {
            let shape = vec![cache + 1, config.head / 2];
            let tables = net.tables(tables, &shape)?;
            net.rotation = Some(net.rotation_at(tables, position)?);
        }
        let mut x = net.embedded(token)?;
        if let Some(positions) = self.positions() {
            let table = net.builder.matrix(positions);
            let place = net.builder.emit("place", Gather { axis: 0 }, vec![table, position])?;
            x = net.builder.add("placed", x, place)?;
        }
        net.finish(x, &caches)
    }

    fn check_length(&self, position: usize, found: usize, limit: usize) -> Result<(), DecoderError> {
        if found == 0 {
            return Err(DecoderError::NoTokens);
        }
        if position.saturating_add(found) > limit {
            return Err(DecoderError::TooLong { position, found, limit });
        }
        Ok(())
    }
}
