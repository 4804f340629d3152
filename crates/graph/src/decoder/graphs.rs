//! Graphs of a decoder: a whole prompt at once, or one more token with a cache of keys and values.

mod net;

use npukit_numeric::{ElementType, TensorData};

use super::{DecoderError, DecoderModel};
use crate::ir::{Graph, ValueId};
use crate::op::{Compare, CompareKind, Gather};
use net::Net;

/// Longest prompt of a graph: its mask has as many elements as the square.
const MOST_PROMPT: usize = 8192;

impl DecoderModel {
    /// The graph of a prompt of `length` tokens, at most 8192.
    ///
    /// Input: `tokens` of i64 `[length]`. Outputs: `logits [length, vocabulary]`, then for each layer
    /// `layers.I.keys` and `layers.I.values`, `[kv_heads, length, head]`: what a cache holds of it.
    pub fn prefill(&self, length: usize) -> Result<Graph, DecoderError> {
        self.check_length(0, length, self.config().context.min(MOST_PROMPT))?;
        let mut net = Net::new(self, length);
        let tokens = net.builder.input("tokens", vec![length], ElementType::I64);
        let causal = (0..length * length).map(|i| i % length <= i / length).collect();
        let causal = net.builder.constant("causal", vec![length, length], TensorData::Bool(causal))?;
        net.hide(causal)?;
        if let Some(tables) = self.config().rotations(0, length) {
            let shape = vec![1, length, self.config().head / 2];
            net.rotation = Some(net.tables(tables, &shape)?);
        }
        let mut x = net.embedded(tokens)?;
        if let Some(positions) = self.positions() {
            let part = positions.values().iter().take(length * positions.columns()).copied().collect();
            let shape = vec![length, positions.columns()];
            let part = net.builder.constant(&positions.name, shape, TensorData::F32(part))?;
            x = net.builder.add("placed", x, part)?;
        }
        net.finish(x, &[])
    }

    /// The graph of one more token behind at most `cache` others.
    ///
    /// Inputs: `token` of i64 `[1]`, `position` of i64 `[1]`, 0 to `cache`, then for each layer `layers.I.cached_keys` and
    /// `layers.I.cached_values`, `[kv_heads, cache, head]`, of which positions below `position` count.
    /// Outputs: `logits [1, vocabulary]`, then for each layer `layers.I.keys` and `layers.I.values`,
    /// `[kv_heads, 1, head]`: what the cache is to hold at `position`.
    pub fn decode(&self, cache: usize) -> Result<Graph, DecoderError> {
        self.check_length(cache, 1, self.config().context)?;
        let config = self.config();
        let mut net = Net::new(self, 1);
        let token = net.builder.input("token", vec![1], ElementType::I64);
        let position = net.builder.input("position", vec![1], ElementType::I64);
        let shape = [config.kv_heads, cache, config.head];
        let cached =
            |name: String, net: &mut Net<'_>| net.builder.input(&name, shape.to_vec(), ElementType::F32);
        let caches: Vec<[ValueId; 2]> = (0..config.layers)
            .map(|i| ["keys", "values"].map(|part| cached(format!("layers.{i}.cached_{part}"), &mut net)))
            .collect();
        // The token's own keys come last, whatever its position: they always count.
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
