//! [`Net`]: the graph of a decoder under construction, layer by layer.

use npukit_numeric::{ElementType, Tensor, TensorData};

use crate::decoder::{
    DecoderConfig, DecoderError, DecoderModel, Layer, Matrix, NormWeights, Pairs, Positions,
};
use crate::ir::{Graph, ValueId, ValueInfo};
use crate::op::{
    Binary, BinaryKind, Concat, Gather, Gemm, LayerNormalization, MatMul, Op, Reshape, RmsNormalization,
    RotaryEmbedding, Softmax, Transpose, Where,
};

/// A product with a matrix that lies by rows.
const BY_ROWS: Gemm = Gemm { trans_b: true, ..Gemm::PLAIN };

/// A graph under construction.
pub(super) struct Net<'a> {
    model: &'a DecoderModel,
    graph: Graph,
    /// Tokens computed at once.
    length: usize,
    /// Which keys a token may see, `[length, keys]`.
    pub(super) mask: Option<ValueId>,
    /// Cosines and sines `[1, length, head / 2]`.
    pub(super) rotation: Option<[ValueId; 2]>,
    /// What hidden scores become.
    hidden_score: Option<ValueId>,
    /// Matrices that are in the graph.
    matrices: Vec<(&'a str, ValueId)>,
}

impl<'a> Net<'a> {
    pub(super) fn new(model: &'a DecoderModel, length: usize) -> Self {
        let graph = Graph { name: model.config().name.clone(), ..Graph::default() };
        let (mask, rotation, hidden_score, matrices) = (None, None, None, Vec::new());
        Self { model, graph, length, mask, rotation, hidden_score, matrices }
    }

    fn config(&self) -> &'a DecoderConfig {
        self.model.config()
    }

    pub(super) fn input(&mut self, name: &str, shape: Vec<usize>, element: ElementType) -> ValueId {
        self.graph.add_input(name, ValueInfo { shape, element })
    }

    pub(super) fn constant(
        &mut self,
        name: &str,
        shape: Vec<usize>,
        data: TensorData,
    ) -> Result<ValueId, DecoderError> {
        let (found, expected) = (vec![data.len()], shape.clone());
        let wrong = |_| DecoderError::Shape { name: name.to_owned(), found, expected };
        Ok(self.graph.add_constant(name, Tensor::new(shape, data).map_err(wrong)?))
    }

    /// A tensor of the model; one value wherever it is used.
    pub(super) fn matrix(&mut self, matrix: &'a Matrix) -> Result<ValueId, DecoderError> {
        if let Some((_, id)) = self.matrices.iter().find(|(name, _)| *name == matrix.name) {
            return Ok(*id);
        }
        let id = self.graph.add_constant(&matrix.name, matrix.tensor().clone());
        self.matrices.push((&matrix.name, id));
        Ok(id)
    }

    pub(super) fn emit(
        &mut self,
        name: &str,
        op: impl Into<Op>,
        inputs: Vec<ValueId>,
    ) -> Result<ValueId, DecoderError> {
        let op = op.into();
        let none = DecoderError::NotFloats { name: name.to_owned() };
        let results = self.graph.add_node(name, op, inputs, &[name])?;
        results.first().copied().ok_or(none)
    }

    pub(super) fn embedded(&mut self, tokens: ValueId) -> Result<ValueId, DecoderError> {
        let table = self.matrix(self.model.embedding())?;
        self.emit("embedded", Gather { axis: 0 }, vec![table, tokens])
    }

    pub(super) fn add(&mut self, name: &str, left: ValueId, right: ValueId) -> Result<ValueId, DecoderError> {
        self.emit(name, Binary { kind: BinaryKind::Add }, vec![left, right])
    }

    fn product(&mut self, name: &str, x: ValueId, matrix: &'a Matrix) -> Result<ValueId, DecoderError> {
        let weights = self.matrix(matrix)?;
        self.emit(name, BY_ROWS, vec![x, weights])
    }

    pub(super) fn tables(
        &mut self,
        tables: [Vec<f32>; 2],
        shape: &[usize],
    ) -> Result<[ValueId; 2], DecoderError> {
        let [cos, sin] = tables.map(TensorData::F32);
        Ok([self.constant("cosines", shape.to_vec(), cos)?, self.constant("sines", shape.to_vec(), sin)?])
    }

    /// The rows of the tables at a position, with an axis for the batch.
    pub(super) fn rotation_at(
        &mut self,
        tables: [ValueId; 2],
        position: ValueId,
    ) -> Result<[ValueId; 2], DecoderError> {
        let shape = vec![1, 1, self.config().head / 2];
        let mut row = |name: &str, table| {
            let row = self.emit(name, Gather { axis: 0 }, vec![table, position])?;
            self.emit(&format!("{name}_3d"), Reshape { shape: shape.clone() }, vec![row])
        };
        Ok([row("cosine", tables[0])?, row("sine", tables[1])?])
    }

    /// All layers on `x [length, hidden]`, and the logits.
    pub(super) fn finish(mut self, mut x: ValueId, caches: &[[ValueId; 2]]) -> Result<Graph, DecoderError> {
        let model = self.model;
        let mut held = Vec::new();
        for (index, layer) in model.layers().iter().enumerate() {
            let at = |part: &str| format!("layers.{index}.{part}");
            let normal = self.norm(&at("attention_in"), x, &layer.attention_norm)?;
            let (context, keys_values) = self.attention(&at, layer, normal, caches.get(index))?;
            held.extend(keys_values);
            let attended = self.product(&at("attention_out"), context, &layer.output)?;
            x = self.add(&at("attended"), x, attended)?;
            let normal = self.norm(&at("feed_forward_in"), x, &layer.feed_forward_norm)?;
            let forward = self.feed_forward(&at, layer, normal)?;
            x = self.add(&at("result"), x, forward)?;
        }
        let normal = self.norm("normal", x, model.final_norm())?;
        let logits = self.product("logits", normal, model.head())?;
        self.graph.outputs = [logits].into_iter().chain(held).collect();
        Ok(self.graph)
    }

    fn norm(&mut self, name: &str, x: ValueId, weights: &'a NormWeights) -> Result<ValueId, DecoderError> {
        let epsilon = self.config().epsilon;
        let gain = self.matrix(&weights.gain)?;
        match &weights.bias {
            None => self.emit(name, RmsNormalization { axis: 1, epsilon }, vec![x, gain]),
            Some(bias) => {
                let bias = self.matrix(bias)?;
                self.emit(name, LayerNormalization { axis: 1, epsilon }, vec![x, gain, bias])
            }
        }
    }

    fn feed_forward(
        &mut self,
        at: &impl Fn(&str) -> String,
        layer: &'a Layer,
        x: ValueId,
    ) -> Result<ValueId, DecoderError> {
        let activation = self.config().activation.op();
        let up = self.product(&at("upper"), x, &layer.up)?;
        let active = match &layer.gate {
            None => self.emit(&at("active"), activation, vec![up])?,
            Some(gate) => {
                let gate = self.product(&at("gated"), x, gate)?;
                let open = self.emit(&at("open"), activation, vec![gate])?;
                self.emit(&at("active"), Binary { kind: BinaryKind::Mul }, vec![open, up])?
            }
        };
        self.product(&at("feed_forward_out"), active, &layer.down)
    }

    /// What heads see, `[length, heads * head]`, and the keys and values of these tokens,
    /// `[kv_heads, length, head]`.
    fn attention(
        &mut self,
        at: &impl Fn(&str) -> String,
        layer: &'a Layer,
        x: ValueId,
        cache: Option<&[ValueId; 2]>,
    ) -> Result<(ValueId, [ValueId; 2]), DecoderError> {
        let config = self.config();
        let (heads, kv_heads) = (config.heads, config.kv_heads);
        let query = self.product(&at("query_flat"), x, &layer.query)?;
        let key = self.product(&at("key_flat"), x, &layer.key)?;
        let value = self.product(&at("value_flat"), x, &layer.value)?;
        let query = self.rotated(&at("query_rotated"), query, heads)?;
        let key = self.rotated(&at("key_rotated"), key, kv_heads)?;
        let query = self.by_head(&at("queries"), query, heads)?;
        let own = [self.by_head(&at("keys"), key, kv_heads)?, self.by_head(&at("values"), value, kv_heads)?];
        let [keys, values] = match cache {
            None => own,
            Some(&[keys, values]) => {
                let all = Concat { axis: 1 };
                let keys = self.emit(&at("all_keys"), all.clone(), vec![keys, own[0]])?;
                [keys, self.emit(&at("all_values"), all, vec![values, own[1]])?]
            }
        };
        let probabilities = self.probabilities(at, query, keys)?;
        let count = self.graph.shape(keys).get(1).copied().unwrap_or(0);
        let (length, head, rows) = (self.length, config.head, config.group() * self.length);
        let grouped = self.reshape(&at("probability_groups"), probabilities, &[kv_heads, rows, count])?;
        let seen = self.emit(&at("seen_groups"), MatMul, vec![grouped, values])?;
        let seen = self.reshape(&at("seen"), seen, &[heads, length, head])?;
        let by_token = self.emit(&at("seen_by_token"), Transpose { perm: vec![1, 0, 2] }, vec![seen])?;
        Ok((self.reshape(&at("context"), by_token, &[length, heads * head])?, own))
    }

    /// How much each query takes of each value, `[heads, length, keys]`. Heads that share keys are rows of one product.
    fn probabilities(
        &mut self,
        at: &impl Fn(&str) -> String,
        query: ValueId,
        keys: ValueId,
    ) -> Result<ValueId, DecoderError> {
        let config = self.config();
        let count = self.graph.shape(keys).get(1).copied().unwrap_or(0);
        let rows = config.group() * self.length;
        let grouped = self.reshape(&at("query_groups"), query, &[config.kv_heads, rows, config.head])?;
        let transposed = self.emit(&at("keys_transposed"), Transpose { perm: vec![0, 2, 1] }, vec![keys])?;
        let scores = self.emit(&at("score_groups"), MatMul, vec![grouped, transposed])?;
        let scores = self.reshape(&at("scores"), scores, &[config.heads, self.length, count])?;
        let scale = TensorData::F32(vec![config.attention_scale]);
        let scale = self.constant(&at("attention_scale"), Vec::new(), scale)?;
        let mut scores = self.emit(&at("scaled"), Binary { kind: BinaryKind::Mul }, vec![scores, scale])?;
        if let Some(mask) = self.mask {
            let hidden = self.hidden_score()?;
            scores = self.emit(&at("masked"), Where, vec![mask, scores, hidden])?;
        }
        self.emit(&at("probabilities"), Softmax { axis: 2, axis_end: 3 }, vec![scores])
    }

    fn hidden_score(&mut self) -> Result<ValueId, DecoderError> {
        if let Some(id) = self.hidden_score {
            return Ok(id);
        }
        let id = self.constant("hidden_score", Vec::new(), TensorData::F32(vec![f32::NEG_INFINITY]))?;
        self.hidden_score = Some(id);
        Ok(id)
    }

    /// `x [length, heads * head]` with the heads' features rotated, where the model does that.
    fn rotated(&mut self, name: &str, x: ValueId, heads: usize) -> Result<ValueId, DecoderError> {
        let (Positions::Rotary { pairs, .. }, Some([cos, sin])) = (self.config().positions, self.rotation)
        else {
            return Ok(x);
        };
        let (size, width) = (self.config().head, heads * self.config().head);
        let batch = self.reshape(&format!("{name}_in"), x, &[1, self.length, width])?;
        let op = RotaryEmbedding { heads, size, interleaved: pairs == Pairs::Neighbours };
        self.emit(name, op, vec![batch, cos, sin])
    }

    /// `x`, whose elements are those of `[length, heads * head]`, as `[heads, length, head]`.
    fn by_head(&mut self, name: &str, x: ValueId, heads: usize) -> Result<ValueId, DecoderError> {
        let split =
            self.reshape(&format!("{name}_by_token"), x, &[self.length, heads, self.config().head])?;
        self.emit(name, Transpose { perm: vec![1, 0, 2] }, vec![split])
    }

    fn reshape(&mut self, name: &str, x: ValueId, shape: &[usize]) -> Result<ValueId, DecoderError> {
        self.emit(name, Reshape { shape: shape.to_vec() }, vec![x])
    }
}
