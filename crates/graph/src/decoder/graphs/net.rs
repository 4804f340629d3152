//! [`Net`]: the graph of a [`DecoderModel`] under construction, layer by layer.

use npukit_numeric::TensorData;

use crate::decoder::builder::{Builder, Heads};
use crate::decoder::{DecoderConfig, DecoderError, DecoderModel, Layer, NormWeights, Pairs, Positions};
use crate::ir::{Graph, ValueId};
use crate::op::{BinaryKind, Gather, LayerNormalization, Reshape, RotaryEmbedding};

/// A graph under construction.
pub(super) struct Net<'a> {
    model: &'a DecoderModel,
    pub(super) builder: Builder,
    /// Number of tokens computed at once.
    length: usize,
    /// Which keys each token may see, `[length, keys]`, and the score of hidden keys.
    mask: Option<[ValueId; 2]>,
    /// Cosines and sines `[1, length, head / 2]`.
    pub(super) rotation: Option<[ValueId; 2]>,
}

impl<'a> Net<'a> {
    pub(super) fn new(model: &'a DecoderModel, length: usize) -> Self {
        let builder = Builder::new(&model.config().name);
        Self { model, builder, length, mask: None, rotation: None }
    }

    fn config(&self) -> &'a DecoderConfig {
        self.model.config()
    }

    /// Sets the mask: `mask` is true where a token sees a key.
    pub(super) fn hide(&mut self, mask: ValueId) -> Result<(), DecoderError> {
        let hidden = self.builder.scalar("hidden_score", f32::NEG_INFINITY)?;
        self.mask = Some([mask, hidden]);
        Ok(())
    }

    pub(super) fn embedded(&mut self, tokens: ValueId) -> Result<ValueId, DecoderError> {
        let table = self.builder.matrix(self.model.embedding());
        self.builder.emit("embedded", Gather { axis: 0 }, vec![table, tokens])
    }

    pub(super) fn tables(
        &mut self,
        tables: [Vec<f32>; 2],
        shape: &[usize],
    ) -> Result<[ValueId; 2], DecoderError> {
        let [cos, sin] = tables.map(TensorData::F32);
        let builder = &mut self.builder;
        Ok([
            builder.constant("cosines", shape.to_vec(), cos)?,
            builder.constant("sines", shape.to_vec(), sin)?,
        ])
    }

    /// Adds the lookup of the rotation tables at a position, with an axis for the batch.
    pub(super) fn rotation_at(
        &mut self,
        tables: [ValueId; 2],
        position: ValueId,
    ) -> Result<[ValueId; 2], DecoderError> {
        let shape = vec![1, 1, self.config().head / 2];
        let mut row = |name: &str, table| {
            let row = self.builder.emit(name, Gather { axis: 0 }, vec![table, position])?;
            self.builder.emit(&format!("{name}_3d"), Reshape { shape: shape.clone() }, vec![row])
        };
        Ok([row("cosine", tables[0])?, row("sine", tables[1])?])
    }

    /// Adds all layers on `x [length, hidden]` and the logits, and returns the graph.
    pub(super) fn finish(mut self, mut x: ValueId, caches: &[[ValueId; 2]]) -> Result<Graph, DecoderError> {
        let model = self.model;
        let mut held = Vec::new();
        for (index, layer) in model.layers().iter().enumerate() {
            let at = |part: &str| format!("layers.{index}.{part}");
            let normal = self.norm(&at("attention_in"), x, &layer.attention_norm)?;
            let (context, keys_values) = self.attention(&at, layer, normal, caches.get(index))?;
            held.extend(keys_values);
            let attended = self.builder.product(&at("attention_out"), context, &layer.output)?;
            x = self.builder.add(&at("attended"), x, attended)?;
            let normal = self.norm(&at("feed_forward_in"), x, &layer.feed_forward_norm)?;
            let forward = self.feed_forward(&at, layer, normal)?;
            x = self.builder.add(&at("result"), x, forward)?;
        }
        let normal = self.norm("normal", x, model.final_norm())?;
        let logits = self.builder.product("logits", normal, model.head())?;
        let mut graph = self.builder.graph;
        graph.outputs = [logits].into_iter().chain(held).collect();
        Ok(graph)
    }

    fn norm(&mut self, name: &str, x: ValueId, weights: &NormWeights) -> Result<ValueId, DecoderError> {
        let epsilon = self.config().epsilon;
        let Some(bias) = &weights.bias else {
            return self.builder.rms_norm(name, x, &weights.gain, epsilon);
        };
        let operands = vec![x, self.builder.matrix(&weights.gain), self.builder.matrix(bias)];
        self.builder.emit(name, LayerNormalization { axis: 1, epsilon }, operands)
    }

    fn feed_forward(
        &mut self,
        at: &impl Fn(&str) -> String,
        layer: &Layer,
        x: ValueId,
    ) -> Result<ValueId, DecoderError> {
        let activation = self.config().activation.op();
        let builder = &mut self.builder;
        let up = builder.product(&at("upper"), x, &layer.up)?;
        let active = match &layer.gate {
            None => builder.emit(&at("active"), activation, vec![up])?,
            Some(gate) => {
                let gate = builder.product(&at("gated"), x, gate)?;
                let open = builder.emit(&at("open"), activation, vec![gate])?;
                builder.binary(&at("active"), BinaryKind::Mul, open, up)?
            }
        };
        builder.product(&at("feed_forward_out"), active, &layer.down)
    }

    /// Adds the attention, `[length, heads * head]`, and returns it with the keys and values of
    /// these tokens, `[kv_heads, length, head]`.
    fn attention(
        &mut self,
        at: &impl Fn(&str) -> String,
        layer: &Layer,
        x: ValueId,
        cache: Option<&[ValueId; 2]>,
    ) -> Result<(ValueId, [ValueId; 2]), DecoderError> {
        let &DecoderConfig { heads, kv_heads, head, attention_scale: scale, .. } = self.config();
        let (length, mask) = (self.length, self.mask);
        let query = self.builder.product(&at("query_flat"), x, &layer.query)?;
        let key = self.builder.product(&at("key_flat"), x, &layer.key)?;
        let value = self.builder.product(&at("value_flat"), x, &layer.value)?;
        let query = self.rotated(&at("query_rotated"), query, heads)?;
        let key = self.rotated(&at("key_rotated"), key, kv_heads)?;
        let builder = &mut self.builder;
        let query = builder.by_head(&at("queries"), query, [length, heads, head])?;
        let mut held = |name, x| builder.by_head(&at(name), x, [length, kv_heads, head]);
        let own = [held("keys", key)?, held("values", value)?];
        let all = builder.behind_cache(at, cache, own)?;
        let sizes = Heads { length, heads, kv_heads, head, scale };
        Ok((builder.attend(at, sizes, query, all, mask)?, own))
    }

    /// Returns `x [length, heads * head]` with the heads' features rotated, if the model uses
    /// rotation.
    fn rotated(&mut self, name: &str, x: ValueId, heads: usize) -> Result<ValueId, DecoderError> {
        let (Positions::Rotary { pairs, .. }, Some([cos, sin])) = (self.config().positions, self.rotation)
        else {
            return Ok(x);
        };
        let (size, width) = (self.config().head, heads * self.config().head);
        let batch = self.builder.reshape(&format!("{name}_in"), x, &[1, self.length, width])?;
        let op = RotaryEmbedding { heads, size, interleaved: pairs == Pairs::Neighbors };
        self.builder.emit(name, op, vec![batch, cos, sin])
    }
}
