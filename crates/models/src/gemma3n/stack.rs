//! Whole graphs: one layer, or a model with its inputs and outputs.

use npukit_numeric::{ElementType, TensorData};

use super::net::{Computed, Net, no_keys};
use super::{Gemma3n, Gemma3nConfig, Layer};
use npukit_graph::decoder::DecoderError;
use npukit_graph::decoder::config::MAX_POSITIONS;
use npukit_graph::op::{BinaryKind, Concat, Reduce, ReduceKind, RmsNormalization, Unary, UnaryKind};
use npukit_graph::{Graph, ValueId};

/// Added to the mean square of a returning stream, so that a stream of zeros stays zero: the root
/// is 1e-12.
const TINY: f32 = 1e-24;

impl Layer {
    /// Returns the graph of this layer for one token at `position`, with `cache` cached tokens.
    ///
    /// Inputs: `streams [streams, hidden]`, `per_layer [1, per_layer]`, then, unless `cache` is 0,
    /// `cached_keys` and `cached_values`, `[kv_heads, cache, head]`. Outputs: `layers.I.streams
    /// [streams, hidden]`, then the token's `layers.I.keys` and `layers.I.values`, `[kv_heads, 1,
    /// head]`. A layer that does not compute keys has no such outputs, and its cache includes the
    /// token itself.
    ///
    /// # Errors
    ///
    /// - [`DecoderError::Config`] for a configuration that [`Gemma3nConfig::check`] rejects, or a
    ///   missing cache for a layer that needs one.
    /// - [`DecoderError::TooLong`] for a position or cache of at least the largest context.
    /// - [`DecoderError::Op`] if the layer is from another configuration.
    pub fn step(&self, config: &Gemma3nConfig, position: usize, cache: usize) -> Result<Graph, DecoderError> {
        config.check()?;
        check_length(position, cache)?;
        if self.key_value.is_none() && cache == 0 {
            return Err(no_keys(self.index));
        }
        let mut net = Net::new(config, &format!("{}_layer_{}", config.name, self.index), position);
        let streams = net.builder.input("streams", vec![config.streams, config.hidden], ElementType::F32);
        let per_layer = net.builder.input("per_layer", vec![1, config.per_layer], ElementType::F32);
        let cache = (cache > 0).then(|| net.cache("cached", cache));
        let Computed { streams, own, .. } = net.layer(self, streams, per_layer, cache)?;
        let mut graph = net.builder.graph;
        graph.outputs = [streams].into_iter().chain(own.into_iter().flatten()).collect();
        Ok(graph)
    }
}

impl Gemma3n {
    /// Returns the graph of one token at `position`, with `cache` other cached tokens.
    ///
    /// Inputs: `embedded [1, hidden]`, the token's row of the embedding times the root of `hidden`;
    /// `per_layer [layers, per_layer]`, its row of the table of per-layer inputs times the root of
    /// `per_layer`; then, unless `cache` is 0, for each layer that computes keys,
    /// `layers.I.cached_keys` and `layers.I.cached_values`, `[kv_heads, cache, head]`. Outputs:
    /// `logits [1, vocabulary]`, then for each such layer `layers.I.keys` and `layers.I.values`,
    /// `[kv_heads, 1, head]`, the token's entries for the cache.
    ///
    /// # Errors
    ///
    /// [`DecoderError::TooLong`] for a position or cache of at least the largest context;
    /// [`DecoderError::Op`] if weights do not fit together.
    pub fn decode(&self, position: usize, cache: usize) -> Result<Graph, DecoderError> {
        check_length(position, cache)?;
        let config = &self.config;
        let mut net = Net::new(config, &config.name, position);
        let embedded = net.builder.input("embedded", vec![1, config.hidden], ElementType::F32);
        let per_layer =
            net.builder.input("per_layer", vec![config.layers, config.per_layer], ElementType::F32);
        let owners = config.kv_layers.min(config.layers);
        let caches: Vec<[ValueId; 2]> = match cache {
            0 => Vec::new(),
            _ => (0..owners).map(|layer| net.cache(&format!("layers.{layer}.cached"), cache)).collect(),
        };
        let mut streams = self.streams(&mut net, embedded)?;
        let own_inputs = self.own_inputs(&mut net, embedded, per_layer)?;
        let (mut held, mut all) = (Vec::new(), Vec::new());
        for layer in &self.layers {
            let input = net.row(&format!("layers.{}.per_layer", layer.index), own_inputs, layer.index)?;
            let cache = match config.kv_source(layer.index) {
                Some(source) if !config.owns_kv(layer.index) => all.get(source),
                _ => caches.get(layer.index),
            };
            let computed = net.layer(layer, streams, input, cache.copied())?;
            streams = computed.streams;
            held.extend(computed.own.into_iter().flatten());
            all.push(computed.all);
        }
        let logits = self.logits(&mut net, streams)?;
        let mut graph = net.builder.graph;
        graph.outputs = [logits].into_iter().chain(held).collect();
        Ok(graph)
    }

    /// Adds the first streams: the embedding, and a projection of it for each other stream.
    fn streams(&self, net: &mut Net<'_>, embedded: ValueId) -> Result<ValueId, DecoderError> {
        let mut streams = vec![embedded];
        for (index, matrix) in (1..).zip(&self.stream_projections) {
            streams.push(net.builder.product(&format!("streams.{index}"), embedded, matrix)?);
        }
        net.builder.emit("streams", Concat { axis: 0 }, streams)
    }

    /// Adds the per-layer inputs, `[layers, per_layer]`: `(norm(W x / sqrt(hidden)) + row) /
    /// sqrt(2)`.
    fn own_inputs(
        &self,
        net: &mut Net<'_>,
        embedded: ValueId,
        rows: ValueId,
    ) -> Result<ValueId, DecoderError> {
        let &Gemma3nConfig { layers, per_layer, hidden, .. } = net.config;
        let flat = net.builder.product("per_layer_flat", embedded, &self.per_layer_projection)?;
        let factor = net.number("per_layer_factor", 1.0 / (hidden as f32).sqrt())?;
        let flat = net.builder.binary("per_layer_scaled", BinaryKind::Mul, flat, factor)?;
        let table = net.builder.reshape("per_layer_table", flat, &[layers, per_layer])?;
        let table = net.norm("per_layer_normal", table, &self.per_layer_norm)?;
        let sum = net.builder.add("per_layer_sum", table, rows)?;
        let half = net.number("root_of_half", std::f32::consts::FRAC_1_SQRT_2)?;
        net.builder.binary("per_layer_inputs", BinaryKind::Mul, sum, half)
    }

    /// Adds the logits of the streams' mean; the other streams are first projected back to the
    /// first stream's features and magnitude.
    fn logits(&self, net: &mut Net<'_>, streams: ValueId) -> Result<ValueId, DecoderError> {
        let first = net.row("returned.0", streams, 0)?;
        let square = net.builder.binary("magnitude_squares", BinaryKind::Mul, first, first)?;
        let mean = |axis| Reduce { kind: ReduceKind::Mean, axes: vec![axis], keep_dims: true };
        let square = net.builder.emit("magnitude_square", mean(1), vec![square])?;
        let magnitude = net.builder.emit("magnitude", Unary { kind: UnaryKind::Sqrt }, vec![square])?;
        let hidden = net.config.hidden;
        let ones = net.builder.constant("ones", vec![hidden], TensorData::F32(vec![1.0; hidden]))?;
        let mut returned = vec![first];
        for (index, matrix) in (1..).zip(&self.stream_returns) {
            let at = |part: &str| format!("returned.{index}{part}");
            let stream = net.row(&at("_stream"), streams, index)?;
            let back = net.builder.product(&at("_flat"), stream, matrix)?;
            let unit = RmsNormalization { axis: 1, epsilon: TINY };
            let unit = net.builder.emit(&at("_unit"), unit, vec![back, ones])?;
            returned.push(net.builder.binary(&at(""), BinaryKind::Mul, unit, magnitude)?);
        }
        let all = net.builder.emit("returned", Concat { axis: 0 }, returned)?;
        let x = net.builder.emit("mean_stream", mean(0), vec![all])?;
        let x = net.norm("normal", x, &self.final_norm)?;
        let mut parts = Vec::new();
        for (index, matrix) in self.head.iter().enumerate() {
            parts.push(net.builder.product(&format!("logits.{index}"), x, matrix)?);
        }
        let name = if net.config.softcap.is_some() { "logits_uncapped" } else { "logits" };
        let logits = net.builder.emit(name, Concat { axis: 1 }, parts)?;
        let Some(cap) = net.config.softcap else { return Ok(logits) };
        let (down, up) = (net.number("softcap_reciprocal", 1.0 / cap)?, net.number("softcap", cap)?);
        let small = net.builder.binary("logits_small", BinaryKind::Mul, logits, down)?;
        let tanh = net.builder.emit("logits_tanh", Unary { kind: UnaryKind::Tanh }, vec![small])?;
        net.builder.binary("logits", BinaryKind::Mul, tanh, up)
    }
}

impl Net<'_> {
    /// Adds inputs for cached keys and values of `tokens` tokens.
    fn cache(&mut self, name: &str, tokens: usize) -> [ValueId; 2] {
        let shape = [self.config.kv_heads, tokens, self.config.head];
        ["keys", "values"]
            .map(|part| self.builder.input(&format!("{name}_{part}"), shape.to_vec(), ElementType::F32))
    }
}

fn check_length(position: usize, cache: usize) -> Result<(), DecoderError> {
    match position.max(cache) {
        found if found < MAX_POSITIONS => Ok(()),
        found => Err(DecoderError::TooLong { position: found, found: 1, limit: MAX_POSITIONS }),
    }
}
