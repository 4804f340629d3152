//! [`Description`]: computation of a language model, without its weights.

use crate::decoder::config::{Activation, MAX, MAX_POSITIONS, NormKind, refuse};
use crate::decoder::{DecoderError, Pairs};

use super::{Rotation, Scaling, Streams};

/// Result of a model, and the places of its normalizations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Structure {
    /// Logits of the next token. A token attends to itself and to earlier tokens. Each part of a
    /// layer begins with a normalization.
    Decoder,
    /// Values of each token. A token attends to all tokens. The embeddings, and the sum after each
    /// part of a layer, are normalized.
    Encoder {
        /// Number of types of tokens; 0 for none. A learned vector for the first type is added to
        /// each embedding.
        token_types: usize,
    },
}

/// Computation of a language model, without its weights.
///
/// Each layer adds attention, then a feed-forward part, to the values of a token.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    /// Name of the model.
    pub name: String,
    /// Result, and the places of the normalizations.
    pub structure: Structure,
    /// Number of tokens in the vocabulary.
    pub vocabulary: usize,
    /// Number of positions that the model is made for.
    pub context: usize,
    /// Number of values of a token between the layers.
    pub hidden: usize,
    /// Number of values within the feed-forward part.
    pub feed_forward: usize,
    /// Number of query heads.
    pub heads: usize,
    /// Number of key and value heads, which divides `heads`.
    pub kv_heads: usize,
    /// Number of features of a head.
    pub head: usize,
    /// Properties of each layer.
    pub layers: Vec<LayerForm>,
    /// Rotations that layers refer to by their index.
    pub rotations: Vec<Rotation>,
    /// Features of a head that are rotated together.
    pub pairs: Pairs,
    /// Whether a learned vector for each position is added to the embedding.
    pub learned_positions: bool,
    /// Normalization of each part and, in a decoder, before the logits.
    pub norm: NormKind,
    /// Number added to a variance or mean square.
    pub epsilon: f32,
    /// Whether each head of queries and keys is normalized before its rotation.
    pub query_key_norms: bool,
    /// Whether the results of attention and feed-forward part are normalized before they are added.
    pub norms_after: bool,
    /// Activation function of the feed-forward part.
    pub activation: Activation,
    /// Whether activated values multiply the values of a second matrix.
    pub gated: bool,
    /// Whether the logits are computed with the embeddings, without a matrix of their own.
    pub tied: bool,
    /// Factor of the embeddings.
    pub embedding_scale: f32,
    /// Factor of the products of queries and keys.
    pub attention_scale: f32,
    /// Bound `c` of the scaled products `x`, which become `c tanh(x / c)`; `None` if unbounded.
    pub attention_cap: Option<f32>,
    /// Bound of the logits in the same form.
    pub final_cap: Option<f32>,
    /// Several values of a token between layers, as Gemma 3N has them; `None` for one.
    pub streams: Option<Streams>,
}

/// Properties of a layer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LayerForm {
    /// Number of latest positions that a token attends to, including its own; `None` for all.
    pub window: Option<usize>,
    /// Index of the layer's rotation; `None` without rotation.
    pub rotation: Option<usize>,
}

impl Description {
    /// Checks sizes and factors, and how they fit together.
    ///
    /// # Errors
    ///
    /// [`DecoderError::Config`] with the first value that is out of range or does not fit another.
    pub fn check(&self) -> Result<(), DecoderError> {
        for (key, found, most) in [
            ("vocabulary", self.vocabulary, MAX),
            ("context", self.context, usize::MAX),
            ("layers", self.layers.len(), MAX),
            ("hidden", self.hidden, MAX),
            ("heads", self.heads, MAX),
            ("kv_heads", self.kv_heads, MAX),
            ("head", self.head, MAX),
            ("feed_forward", self.feed_forward, MAX),
            ("heads * head", self.heads.saturating_mul(self.head), MAX),
        ] {
            refuse(found == 0 || found > most, key, &found, || format!("1 to {most}"))?;
        }
        let (types, legal) = (self.token_types(), || format!("0 to {MAX}"));
        refuse(types > MAX, "token types", &types, legal)?;
        let groups = || format!("a multiple of `kv_heads`, which is {}", self.kv_heads);
        refuse(!self.heads.is_multiple_of(self.kv_heads), "heads", &self.heads, groups)?;
        let caps = self.attention_cap.into_iter().chain(self.final_cap);
        let factors = [self.epsilon, self.attention_scale, self.embedding_scale];
        for found in factors.into_iter().chain(caps) {
            let legal = || "a positive number".to_owned();
            refuse(!(found > 0.0 && found.is_finite()), "epsilon, scale or cap", &found, legal)?;
        }
        for layer in &self.layers {
            refuse(layer.window == Some(0), "window", &0, || "at least 1".to_owned())?;
            let (found, count) = (layer.rotation.map_or(0, |index| index + 1), self.rotations.len());
            refuse(found > count, "rotation", &found, || format!("at most {count}"))?;
        }
        self.streams.iter().try_for_each(|streams| self.check_streams(streams))?;
        self.rotations.iter().try_for_each(|rotation| rotation.check(self.head))
    }

    /// Returns the maximum number of tokens of a text. Rotations that adapt to the length have no
    /// limit of their own.
    pub fn limit(&self) -> usize {
        let adapts = |rotation: &Rotation| matches!(rotation.scaling, Scaling::Dynamic { .. });
        let grows = !self.learned_positions && self.rotations.iter().any(adapts);
        if grows { MAX_POSITIONS } else { self.context.min(MAX_POSITIONS) }
    }

    /// Whether the model is an encoder.
    pub fn is_encoder(&self) -> bool {
        matches!(self.structure, Structure::Encoder { .. })
    }

    /// Returns the number of types of tokens; 0 for none.
    pub(super) fn token_types(&self) -> usize {
        if let Structure::Encoder { token_types } = self.structure { token_types } else { 0 }
    }

    /// Checks sizes of streams, and how they fit the model.
    fn check_streams(&self, streams: &Streams) -> Result<(), DecoderError> {
        let layers = self.layers.len();
        for (key, found, least, most) in [
            ("streams", streams.count, 2, 64),
            ("active stream", streams.active, 0, streams.count.saturating_sub(1)),
            ("low rank", streams.low_rank, 1, MAX),
            ("layer inputs", streams.input, 1, MAX),
            ("layer inputs of all layers", streams.input.saturating_mul(layers), 1, MAX),
            ("vocabulary of layer inputs", streams.input_vocabulary, 1, MAX),
            ("layers with keys", streams.kv_layers, 1, layers),
            ("gate deviations", streams.gate_deviations.len(), layers, layers),
        ] {
            refuse(found < least || found > most, key, &found, || format!("{least} to {most}"))?;
        }
        let infinite = streams.gate_deviations.iter().flatten().find(|deviation| !deviation.is_finite());
        refuse(infinite.is_some(), "gate deviations", &"infinite", || "finite numbers".to_owned())?;
        let has_none = (0..layers).any(|layer| self.kv_source(layer).is_none());
        let legal = || "one layer of each window and rotation, or more".to_owned();
        refuse(has_none, "layers with keys", &streams.kv_layers, legal)?;
        let fits = !self.is_encoder() && self.gated && self.norms_after && self.query_key_norms;
        let legal = || "a gated decoder with norms of heads and results".to_owned();
        refuse(!fits, "structure", &"another structure with streams", legal)
    }

    /// Returns the layer whose keys and values a layer reads: itself, or the last one of the same
    /// form that computes them; `None` if there is none.
    pub fn kv_source(&self, layer: usize) -> Option<usize> {
        // Default: without streams, all layers compute their own.
        let owners = self.streams.as_ref().map_or(self.layers.len(), |streams| streams.kv_layers);
        let form = self.layers.get(layer)?;
        if layer < owners { Some(layer) } else { self.layers[..owners].iter().rposition(|own| own == form) }
    }

    /// Whether a layer computes keys and values.
    pub fn has_keys(&self, layer: usize) -> bool {
        self.kv_source(layer) == Some(layer)
    }

    /// Returns the number of query heads that share a key head.
    pub fn group(&self) -> usize {
        self.heads / self.kv_heads.max(1)
    }

    /// Checks that `tokens` may follow `position` others.
    ///
    /// # Errors
    ///
    /// [`DecoderError::NoTokens`], [`DecoderError::TooLong`] or [`DecoderError::Token`].
    pub fn check_tokens(&self, position: usize, tokens: &[usize]) -> Result<(), DecoderError> {
        let (found, limit, vocabulary) = (tokens.len(), self.limit(), self.vocabulary);
        if position.saturating_add(found) > limit {
            return Err(DecoderError::TooLong { position, found, limit });
        }
        match tokens.iter().find(|&&token| token >= vocabulary) {
            _ if tokens.is_empty() => Err(DecoderError::NoTokens),
            Some(&token) => Err(DecoderError::Token { token, vocabulary }),
            None => Ok(()),
        }
    }
}
