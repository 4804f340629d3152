//! [`Net`]: the graph of a model under construction, with the parts of a layer.

use npukit_numeric::{ElementType, TensorData};

use super::{AttentionInput, Cache, Gemma3nConfig, KeyValue, Layer};
use npukit_graph::ValueId;
use npukit_graph::decoder::builder::{Builder, Heads};
use npukit_graph::decoder::{DecoderError, Matrix};
use npukit_graph::op::{
    BinaryKind, Cast, Concat, GeluForm, MatMul, Reduce, ReduceKind, RotaryEmbedding, Slice, SliceRange,
    Unary, UnaryKind,
};

const GELU: Unary = Unary { kind: UnaryKind::Gelu { form: GeluForm::Tanh } };

/// A graph of one token under construction.
pub(super) struct Net<'a> {
    pub(super) config: &'a Gemma3nConfig,
    pub(super) builder: Builder,
    /// Position of the token in its text.
    position: usize,
    /// Cosines and sines `[1, 1, head / 2]` of local and of global layers.
    rotations: [Option<[ValueId; 2]>; 2],
    /// Scalars that are in the graph already, by name.
    numbers: Vec<(&'static str, ValueId)>,
}

/// Results of a layer.
pub(super) struct Computed {
    /// Streams, `[streams, hidden]`.
    pub(super) streams: ValueId,
    /// The token's keys and values, `[kv_heads, 1, head]`; `None` for layers that do not compute
    /// them.
    pub(super) own: Option<[ValueId; 2]>,
    /// Keys and values that its attention read, `[kv_heads, tokens, head]`.
    pub(super) all: [ValueId; 2],
}

struct Attention {
    /// Result of the attention heads, `[1, heads * head]`.
    context: ValueId,
    own: Option<[ValueId; 2]>,
    all: [ValueId; 2],
}

impl<'a> Net<'a> {
    pub(super) fn new(config: &'a Gemma3nConfig, name: &str, position: usize) -> Self {
        let builder = Builder::new(name);
        Self { config, builder, position, rotations: [None; 2], numbers: Vec::new() }
    }

    /// Adds a layer on `streams [streams, hidden]` with its per-layer input `[1, per_layer]`.
    /// `cache` holds keys and values of other tokens; in layers that do not compute them, also
    /// keys and values of this token.
    pub(super) fn layer(
        &mut self,
        layer: &Layer,
        streams: ValueId,
        per_layer: ValueId,
        cache: Option<[ValueId; 2]>,
    ) -> Result<Computed, DecoderError> {
        let at = |part: &str| format!("layers.{}.{part}", layer.index);
        let first = self.row(&at("first_stream"), streams, 0)?;
        let predicted = self.predicted(&at, layer, streams, first)?;
        let center = self.row(&at("first_predicted"), predicted, 0)?;
        let block = match self.config.attention_input {
            AttentionInput::Predicted => center,
            AttentionInput::Stream => first,
        };
        let normal = self.norm(&at("attention_in"), block, &layer.attention_norm)?;
        let Attention { context, own, all } = self.attention(&at, layer, normal, cache)?;
        let attended = self.attended(&at, layer, [block, normal, context])?;
        let result = self.feed_forward(&at, layer, attended)?;
        let scale = self.builder.matrix(&layer.altup_scale);
        let result = self.builder.binary(&at("result"), BinaryKind::Mul, result, scale)?;
        let corrected = self.corrected(&at, layer, [predicted, center, result])?;
        let streams = self.with_per_layer(&at, layer, [corrected, result, per_layer])?;
        Ok(Computed { streams, own, all })
    }

    /// Adds the predicted streams: `streams + C streams`, where the router of the first stream
    /// computes `C`.
    fn predicted(
        &mut self,
        at: &impl Fn(&str) -> String,
        layer: &Layer,
        streams: ValueId,
        first: ValueId,
    ) -> Result<ValueId, DecoderError> {
        let count = self.config.streams;
        let modes = self.routed(&|part| at(&format!("predict_{part}")), layer, first)?;
        let mix = self.builder.product(&at("mix_flat"), modes, &layer.altup_predict)?;
        let mix = self.builder.reshape(&at("mix"), mix, &[count, count])?;
        let change = self.builder.emit(&at("mixed"), MatMul, vec![mix, streams])?;
        self.builder.add(&at("predicted"), streams, change)
    }

    /// Adds `tanh(R (norm(x) / divisor))`, `[1, streams]`.
    fn routed(
        &mut self,
        at: &impl Fn(&str) -> String,
        layer: &Layer,
        x: ValueId,
    ) -> Result<ValueId, DecoderError> {
        let normal = self.norm(&at("normal"), x, &layer.altup_norm)?;
        let factor = self.number("router_factor", 1.0 / self.config.router_divisor)?;
        let small = self.builder.binary(&at("small"), BinaryKind::Mul, normal, factor)?;
        let routed = self.builder.product(&at("routed"), small, &layer.altup_router)?;
        self.builder.emit(&at("modes"), Unary { kind: UnaryKind::Tanh }, vec![routed])
    }

    fn attention(
        &mut self,
        at: &impl Fn(&str) -> String,
        layer: &Layer,
        x: ValueId,
        cache: Option<[ValueId; 2]>,
    ) -> Result<Attention, DecoderError> {
        let &Gemma3nConfig { heads, kv_heads, head, .. } = self.config;
        let rotation = self.rotation(layer.index)?;
        let query = self.builder.product(&at("query_flat"), x, &layer.query)?;
        let query = self.builder.reshape(&at("query_heads"), query, &[heads, head])?;
        let query = self.norm(&at("query_normal"), query, &layer.query_norm)?;
        let query = self.rotated(&at("query_rotated"), query, heads, rotation)?;
        let query = self.builder.by_head(&at("queries"), query, [1, heads, head])?;
        let own = match &layer.key_value {
            Some(weights) => Some(self.keys_values(at, weights, x, rotation)?),
            None => None,
        };
        let all = match (own, cache) {
            (Some(own), cache) => self.builder.behind_cache(at, cache.as_ref(), own)?,
            (None, Some(cache)) => cache,
            (None, None) => return Err(no_keys(layer.index)),
        };
        let sizes = Heads { length: 1, heads, kv_heads, head, scale: 1.0 };
        Ok(Attention { context: self.builder.attend(at, sizes, query, all, None)?, own, all })
    }

    /// Adds the token's keys and values, `[kv_heads, 1, head]`.
    fn keys_values(
        &mut self,
        at: &impl Fn(&str) -> String,
        weights: &KeyValue,
        x: ValueId,
        rotation: [ValueId; 2],
    ) -> Result<[ValueId; 2], DecoderError> {
        let &Gemma3nConfig { kv_heads, head, .. } = self.config;
        let key = self.builder.product(&at("key_flat"), x, &weights.key)?;
        let key = self.builder.reshape(&at("key_heads"), key, &[kv_heads, head])?;
        let key = self.norm(&at("key_normal"), key, &weights.key_norm)?;
        let key = self.rotated(&at("key_rotated"), key, kv_heads, rotation)?;
        let value = self.builder.product(&at("value_flat"), x, &weights.value)?;
        let mut by_head = |name: &str, x| {
            let x = self.builder.by_head(&at(name), x, [1, kv_heads, head])?;
            self.held(&|part| at(&format!("{name}_{part}")), x)
        };
        Ok([by_head("keys", key)?, by_head("values", value)?])
    }

    /// Rounds `x [kv_heads, 1, head]` to the format of the cache.
    fn held(&mut self, at: &impl Fn(&str) -> String, x: ValueId) -> Result<ValueId, DecoderError> {
        let element = match self.config.cache {
            Cache::Floats(ElementType::F32) => return Ok(x),
            Cache::Floats(element) => element,
            Cache::Int4 => return self.held_in_4_bits(at, x),
        };
        let narrow = self.builder.emit(&at("held"), Cast::new(element), vec![x])?;
        self.builder.emit(&at("read"), Cast::new(ElementType::F32), vec![narrow])
    }

    /// Rounds `x` to integers from -7 to 7 times one scale per head: its largest magnitude / 7.
    fn held_in_4_bits(&mut self, at: &impl Fn(&str) -> String, x: ValueId) -> Result<ValueId, DecoderError> {
        let size = self.builder.emit(&at("size"), Unary { kind: UnaryKind::Abs }, vec![x])?;
        let largest = Reduce { kind: ReduceKind::Max, axes: vec![2], keep_dims: true };
        let largest = self.builder.emit(&at("largest"), largest, vec![size])?;
        let (tiny, seven) = (self.number("smallest", f32::MIN_POSITIVE)?, self.number("seven", 7.0)?);
        let largest = self.builder.binary(&at("positive"), BinaryKind::Max, largest, tiny)?;
        let scale = self.builder.binary(&at("scale"), BinaryKind::Div, largest, seven)?;
        let codes = self.builder.binary(&at("scaled"), BinaryKind::Div, x, scale)?;
        let codes = self.builder.emit(&at("codes"), Unary { kind: UnaryKind::Round }, vec![codes])?;
        self.builder.binary(&at("read"), BinaryKind::Mul, codes, scale)
    }

    /// Rotates the heads of `x [heads, head]`; the result is `[1, 1, heads * head]`.
    fn rotated(
        &mut self,
        name: &str,
        x: ValueId,
        heads: usize,
        [cos, sin]: [ValueId; 2],
    ) -> Result<ValueId, DecoderError> {
        let size = self.config.head;
        let flat = self.builder.reshape(&format!("{name}_in"), x, &[1, 1, heads * size])?;
        self.builder.emit(name, RotaryEmbedding { heads, size, interleaved: true }, vec![flat, cos, sin])
    }

    /// Combines attention, the block's input and the low-rank branch.
    fn attended(
        &mut self,
        at: &impl Fn(&str) -> String,
        layer: &Layer,
        [block, normal, context]: [ValueId; 3],
    ) -> Result<ValueId, DecoderError> {
        let out = self.builder.product(&at("attention_out"), context, &layer.output)?;
        let out = self.norm(&at("attention_normal"), out, &layer.after_attention_norm)?;
        let out = self.builder.add(&at("attended"), out, block)?;
        let low = self.builder.product(&at("laurel_low"), normal, &layer.laurel_left)?;
        let low = self.builder.product(&at("laurel_out"), low, &layer.laurel_right)?;
        let low = self.norm(&at("laurel_normal"), low, &layer.laurel_norm)?;
        let laurel = self.builder.add(&at("laurel"), normal, low)?;
        let sum = self.builder.add(&at("attended_laurel"), out, laurel)?;
        let scale = self.number("laurel_scale", self.config.laurel_scale)?;
        self.builder.binary(&at("joined"), BinaryKind::Mul, sum, scale)
    }

    fn feed_forward(
        &mut self,
        at: &impl Fn(&str) -> String,
        layer: &Layer,
        x: ValueId,
    ) -> Result<ValueId, DecoderError> {
        let normal = self.norm(&at("feed_forward_in"), x, &layer.feed_forward_norm)?;
        let mut gate = self.builder.product(&at("gate_all"), normal, &layer.gate)?;
        let up = self.builder.product(&at("upper"), normal, &layer.up)?;
        if layer.index < self.config.top_k.layers {
            gate = self.config.top_k.emit(&mut self.builder, at, gate)?;
        }
        let open = self.builder.emit(&at("open"), GELU, vec![gate])?;
        let active = self.builder.binary(&at("active"), BinaryKind::Mul, open, up)?;
        let out = self.builder.product(&at("feed_forward_out"), active, &layer.down)?;
        let out = self.norm(&at("feed_forward_normal"), out, &layer.after_feed_forward_norm)?;
        self.builder.add(&at("forwarded"), out, x)
    }

    /// Corrects the predictions by the layer's result: `predicted + (A modes + 1) (result -
    /// predicted[0])`.
    fn corrected(
        &mut self,
        at: &impl Fn(&str) -> String,
        layer: &Layer,
        [predicted, center, result]: [ValueId; 3],
    ) -> Result<ValueId, DecoderError> {
        let news = self.builder.binary(&at("innovation"), BinaryKind::Sub, result, center)?;
        let modes = self.routed(&|part| at(&format!("correct_{part}")), layer, result)?;
        let shares = self.builder.product(&at("correct_shares"), modes, &layer.altup_correct)?;
        let one = self.number("one", 1.0)?;
        let shares = self.builder.add(&at("correct_all"), shares, one)?;
        let shares = self.builder.reshape(&at("correct_column"), shares, &[self.config.streams, 1])?;
        let change = self.builder.binary(&at("correction"), BinaryKind::Mul, shares, news)?;
        self.builder.add(&at("corrected"), predicted, change)
    }

    /// Adds the per-layer input, gated by the layer's result, to all streams except the first.
    fn with_per_layer(
        &mut self,
        at: &impl Fn(&str) -> String,
        layer: &Layer,
        [streams, result, per_layer]: [ValueId; 3],
    ) -> Result<ValueId, DecoderError> {
        let gate = self.builder.product(&at("per_layer_gated"), result, &layer.per_layer_gate)?;
        let open = self.builder.emit(&at("per_layer_open"), GELU, vec![gate])?;
        let passed = self.builder.binary(&at("per_layer_active"), BinaryKind::Mul, open, per_layer)?;
        let out = self.builder.product(&at("per_layer_out"), passed, &layer.per_layer_projection)?;
        let out = self.norm(&at("per_layer_normal"), out, &layer.per_layer_norm)?;
        let first = self.row(&at("first_corrected"), streams, 0)?;
        let others = self.rows(&at("other_corrected"), streams, 1, self.config.streams - 1)?;
        let others = self.builder.add(&at("other_streams"), others, out)?;
        self.builder.emit(&at("streams"), Concat { axis: 0 }, vec![first, others])
    }

    pub(super) fn norm(&mut self, name: &str, x: ValueId, gain: &Matrix) -> Result<ValueId, DecoderError> {
        self.builder.rms_norm(name, x, gain, self.config.epsilon)
    }

    /// Returns a row of `x [rows, features]` as `[1, features]`.
    pub(super) fn row(&mut self, name: &str, x: ValueId, row: usize) -> Result<ValueId, DecoderError> {
        self.rows(name, x, row, 1)
    }

    fn rows(&mut self, name: &str, x: ValueId, start: usize, length: usize) -> Result<ValueId, DecoderError> {
        let range = SliceRange { axis: 0, start, length, step: 1 };
        self.builder.emit(name, Slice { ranges: vec![range] }, vec![x])
    }

    /// Adds a scalar of the model; it is added once for all uses.
    pub(super) fn number(&mut self, name: &'static str, value: f32) -> Result<ValueId, DecoderError> {
        if let Some((_, id)) = self.numbers.iter().find(|(known, _)| *known == name) {
            return Ok(*id);
        }
        let id = self.builder.scalar(name, value)?;
        self.numbers.push((name, id));
        Ok(id)
    }

    /// Returns cosines and sines at the token's position, for the kind of layer.
    fn rotation(&mut self, layer: usize) -> Result<[ValueId; 2], DecoderError> {
        let global = self.config.is_global(layer);
        if let Some(known) = self.rotations[usize::from(global)] {
            return Ok(known);
        }
        let kind = if global { "global" } else { "local" };
        let [cos, sin] = self.config.rotation(layer, self.position).map(TensorData::F32);
        let shape = vec![1, 1, self.config.head / 2];
        let cos = self.builder.constant(&format!("{kind}_cosines"), shape.clone(), cos)?;
        let sin = self.builder.constant(&format!("{kind}_sines"), shape, sin)?;
        self.rotations[usize::from(global)] = Some([cos, sin]);
        Ok([cos, sin])
    }
}

/// Error of a layer that does not compute keys and has no cache.
pub(super) fn no_keys(layer: usize) -> DecoderError {
    let legal = format!("at least 1: layer {layer} does not compute keys");
    DecoderError::Config { key: "cache", found: "0".to_owned(), legal }
}
