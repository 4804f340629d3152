//! [`Gemma3n`]: a configuration with its tensors, and [`Layer`], the tensors of one layer.

use std::sync::Arc;

use npukit_numeric::Tensor;

use super::Gemma3nConfig;
use npukit_graph::decoder::{DecoderError, Matrix};

/// A model. Tensors that are shared in memory, in any layers, become one constant of its graph.
///
/// Matrices are stored by rows, `[results, operands]`: each row computes one result.
#[derive(Clone, Debug, PartialEq)]
pub struct Gemma3n {
    pub(super) config: Gemma3nConfig,
    /// Projections from the first stream to each other stream, `[hidden, hidden]`.
    pub(super) stream_projections: Vec<Matrix>,
    /// Projection to all per-layer inputs, `[layers * per_layer, hidden]`.
    pub(super) per_layer_projection: Matrix,
    /// Gain of the per-layer inputs' normalization, `[per_layer]`.
    pub(super) per_layer_norm: Matrix,
    pub(super) layers: Vec<Layer>,
    /// Projections of each stream except the first back to the first stream's features, `[hidden,
    /// hidden]`.
    pub(super) stream_returns: Vec<Matrix>,
    /// Gain of the final normalization, `[hidden]`.
    pub(super) final_norm: Matrix,
    /// Matrices of the logits, `[rows, hidden]` each.
    pub(super) head: Vec<Matrix>,
}

/// Tensors of a layer; the tensors of normalizations are gains.
#[derive(Clone, Debug, PartialEq)]
pub struct Layer {
    /// Index of the layer, from 0.
    pub index: usize,
    /// Gain of the normalization before the AltUp router, `[hidden]`.
    pub altup_norm: Matrix,
    /// Router of AltUp, `[streams, hidden]`.
    pub altup_router: Matrix,
    /// Coefficients of the prediction, `[streams * streams, streams]`.
    pub altup_predict: Matrix,
    /// Coefficients of the correction, `[streams, streams]`.
    pub altup_correct: Matrix,
    /// Factors of the layer's result, `[hidden]`.
    pub altup_scale: Matrix,
    /// Gain of the normalization before attention, `[hidden]`.
    pub attention_norm: Matrix,
    /// Query projection, `[heads * head, hidden]`.
    pub query: Matrix,
    /// Gain of the queries' normalization, `[head]`.
    pub query_norm: Matrix,
    /// Key and value projections; `None` for layers that read another layer's keys and values.
    pub key_value: Option<KeyValue>,
    /// Output projection of attention, `[hidden, heads * head]`.
    pub output: Matrix,
    /// Gain of the normalization after attention, `[hidden]`.
    pub after_attention_norm: Matrix,
    /// First factor of the low-rank branch, `[laurel, hidden]`.
    pub laurel_left: Matrix,
    /// Second factor of the low-rank branch, `[hidden, laurel]`.
    pub laurel_right: Matrix,
    /// Gain of the normalization after the low-rank branch, `[hidden]`.
    pub laurel_norm: Matrix,
    /// Gain of the normalization before the feed-forward part, `[hidden]`.
    pub feed_forward_norm: Matrix,
    /// Gate projection, `[feed_forward, hidden]`.
    pub gate: Matrix,
    /// Projection into the feed-forward part, `[feed_forward, hidden]`.
    pub up: Matrix,
    /// Projection out of the feed-forward part, `[hidden, feed_forward]`.
    pub down: Matrix,
    /// Gain of the normalization after the feed-forward part, `[hidden]`.
    pub after_feed_forward_norm: Matrix,
    /// Gate projection of the per-layer input, `[per_layer, hidden]`.
    pub per_layer_gate: Matrix,
    /// Projection of the gated per-layer input, `[hidden, per_layer]`.
    pub per_layer_projection: Matrix,
    /// Gain of the normalization after that projection, `[hidden]`.
    pub per_layer_norm: Matrix,
}

/// Projections to keys and values.
#[derive(Clone, Debug, PartialEq)]
pub struct KeyValue {
    /// Key projection, `[kv_heads * head, hidden]`.
    pub key: Matrix,
    /// Gain of the keys' normalization, `[head]`.
    pub key_norm: Matrix,
    /// Value projection, `[kv_heads * head, hidden]`.
    pub value: Matrix,
}

impl Gemma3n {
    /// Creates the model of `config`. `get` returns each tensor for its name, such as
    /// `layers.0.query`, and its required shape.
    ///
    /// # Errors
    ///
    /// [`DecoderError::Config`] for a configuration that [`Gemma3nConfig::check`] rejects; the
    /// errors of `get`; [`DecoderError::Shape`] or [`DecoderError::NotFloats`] for a tensor of
    /// another shape or type.
    pub fn new<E: From<DecoderError>>(
        config: Gemma3nConfig,
        mut get: impl FnMut(&str, &[usize]) -> Result<Arc<Tensor>, E>,
    ) -> Result<Self, E> {
        config.check()?;
        let Gemma3nConfig { hidden, per_layer, layers, .. } = config;
        let mut all = Vec::new();
        for index in 0..layers {
            all.push(Layer::new(&config, index, &mut get)?);
        }
        let mut matrix = |name: String, shape: &[usize]| matrix(&mut get, name, shape);
        let square = [hidden, hidden];
        Ok(Self {
            layers: all,
            stream_projections: (1..config.streams)
                .map(|stream| matrix(format!("stream_projections.{stream}"), &square))
                .collect::<Result<_, E>>()?,
            stream_returns: (1..config.streams)
                .map(|stream| matrix(format!("stream_returns.{stream}"), &square))
                .collect::<Result<_, E>>()?,
            per_layer_projection: matrix(
                "per_layer_projection".to_owned(),
                &[layers.saturating_mul(per_layer), hidden],
            )?,
            per_layer_norm: matrix("per_layer_norm".to_owned(), &[per_layer])?,
            final_norm: matrix("final_norm".to_owned(), &[hidden])?,
            head: (config.head_parts().enumerate())
                .map(|(part, rows)| matrix(format!("head.{part}"), &[rows, hidden]))
                .collect::<Result<_, E>>()?,
            config,
        })
    }

    /// Returns the configuration.
    pub fn config(&self) -> &Gemma3nConfig {
        &self.config
    }

    /// Returns the layers, first to last.
    pub fn layers(&self) -> &[Layer] {
        &self.layers
    }
}

impl Layer {
    /// Creates the layer at `index`. `get` returns each tensor for its name, such as
    /// `layers.0.query`, and its required shape.
    ///
    /// # Errors
    ///
    /// The errors of `get`; [`DecoderError::Shape`] or [`DecoderError::NotFloats`] for a tensor of
    /// another shape or type.
    pub fn new<E: From<DecoderError>>(
        config: &Gemma3nConfig,
        index: usize,
        mut get: impl FnMut(&str, &[usize]) -> Result<Arc<Tensor>, E>,
    ) -> Result<Self, E> {
        let &Gemma3nConfig { hidden, head, streams, laurel, per_layer, feed_forward, .. } = config;
        let queries = config.heads.saturating_mul(head);
        let keys = [config.kv_heads.saturating_mul(head), hidden];
        let mut part =
            |part: &str, shape: &[usize]| matrix(&mut get, format!("layers.{index}.{part}"), shape);
        Ok(Self {
            index,
            altup_norm: part("altup_norm", &[hidden])?,
            altup_router: part("altup_router", &[streams, hidden])?,
            altup_predict: part("altup_predict", &[streams.saturating_mul(streams), streams])?,
            altup_correct: part("altup_correct", &[streams, streams])?,
            altup_scale: part("altup_scale", &[hidden])?,
            attention_norm: part("attention_norm", &[hidden])?,
            query: part("query", &[queries, hidden])?,
            query_norm: part("query_norm", &[head])?,
            key_value: match config.owns_kv(index) {
                false => None,
                true => Some(KeyValue {
                    key: part("key", &keys)?,
                    key_norm: part("key_norm", &[head])?,
                    value: part("value", &keys)?,
                }),
            },
            output: part("output", &[hidden, queries])?,
            after_attention_norm: part("after_attention_norm", &[hidden])?,
            laurel_left: part("laurel_left", &[laurel, hidden])?,
            laurel_right: part("laurel_right", &[hidden, laurel])?,
            laurel_norm: part("laurel_norm", &[hidden])?,
            feed_forward_norm: part("feed_forward_norm", &[hidden])?,
            gate: part("gate", &[feed_forward, hidden])?,
            up: part("up", &[feed_forward, hidden])?,
            down: part("down", &[hidden, feed_forward])?,
            after_feed_forward_norm: part("after_feed_forward_norm", &[hidden])?,
            per_layer_gate: part("per_layer_gate", &[per_layer, hidden])?,
            per_layer_projection: part("per_layer_projection", &[hidden, per_layer])?,
            per_layer_norm: part("per_layer_norm", &[hidden])?,
        })
    }
}

fn matrix<E: From<DecoderError>>(
    get: &mut impl FnMut(&str, &[usize]) -> Result<Arc<Tensor>, E>,
    name: String,
    shape: &[usize],
) -> Result<Matrix, E> {
    let tensor = get(&name, shape)?;
    Ok(Matrix::new(name, tensor, shape)?)
}
