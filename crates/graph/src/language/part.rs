//! [`Part`]: the tensors of a language model, with their shapes.

use super::{Description, Streams};

/// Tensor of a language model: of the whole model, of each of its layers, or of each of its
/// [`Streams`] but the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Part {
    /// Vector of each token.
    Embedding,
    /// Learned vector of each position.
    Positions,
    /// Learned vector of each type of tokens.
    TokenTypes,
    /// Normalization of the embeddings.
    EmbeddingNorm,
    /// Normalization before the logits.
    FinalNorm,
    /// Matrix that computes the logits.
    Head,
    /// Normalization before attention.
    AttentionNorm,
    /// Matrix of the queries.
    Query,
    /// Matrix of the keys.
    Key,
    /// Matrix of the values.
    Value,
    /// Normalization of each query head.
    QueryNorm,
    /// Normalization of each key head.
    KeyNorm,
    /// Matrix after attention.
    Output,
    /// Normalization after attention: of its results or, in an encoder, of the sum.
    AfterAttentionNorm,
    /// Normalization before the feed-forward part.
    FeedForwardNorm,
    /// Matrix whose results are activated, in gated models.
    Gate,
    /// First matrix of the feed-forward part.
    Up,
    /// Last matrix of the feed-forward part.
    Down,
    /// Normalization after the feed-forward part: of its results or, in an encoder, of the sum.
    AfterFeedForwardNorm,
    /// Inputs of all layers, for each token, in models with streams.
    LayerInputs,
    /// Matrix from the embedding to the inputs of all layers.
    LayerInputProjection,
    /// Normalization of the inputs that the embedding gives.
    LayerInputNorm,
    /// Matrix from the embedding to a stream.
    StreamBegin,
    /// Matrix from a stream to the result.
    StreamEnd,
    /// Normalization before the router.
    RouterNorm,
    /// Matrix that computes a modality for each stream.
    Router,
    /// Matrix from the modalities to the coefficients of the prediction.
    Predictions,
    /// Matrix from the modalities to the coefficients of the correction.
    Corrections,
    /// Factors of the active stream.
    ActiveScale,
    /// First matrix of the low-rank branch.
    LowRankIn,
    /// Last matrix of the low-rank branch.
    LowRankOut,
    /// Normalization after the low-rank branch.
    LowRankNorm,
    /// Matrix whose activated results multiply the layer's input.
    InputGate,
    /// Matrix from the layer's input to the streams.
    InputOut,
    /// Normalization after the matrix from the layer's input.
    InputOutNorm,
}

impl Part {
    /// Parts of the whole model.
    pub const MODEL: [Self; 9] = [
        Self::Embedding,
        Self::Positions,
        Self::TokenTypes,
        Self::EmbeddingNorm,
        Self::FinalNorm,
        Self::Head,
        Self::LayerInputs,
        Self::LayerInputProjection,
        Self::LayerInputNorm,
    ];
    /// Parts of each stream but the first.
    pub const STREAM: [Self; 2] = [Self::StreamBegin, Self::StreamEnd];
    /// Parts of a layer.
    pub const LAYER: [Self; 24] = [
        Self::AttentionNorm,
        Self::Query,
        Self::Key,
        Self::Value,
        Self::QueryNorm,
        Self::KeyNorm,
        Self::Output,
        Self::AfterAttentionNorm,
        Self::FeedForwardNorm,
        Self::Gate,
        Self::Up,
        Self::Down,
        Self::AfterFeedForwardNorm,
        Self::RouterNorm,
        Self::Router,
        Self::Predictions,
        Self::Corrections,
        Self::ActiveScale,
        Self::LowRankIn,
        Self::LowRankOut,
        Self::LowRankNorm,
        Self::InputGate,
        Self::InputOut,
        Self::InputOutNorm,
    ];

    /// Whether a model of this description has the part; `layer` is the index of the layer or
    /// stream.
    pub fn is_needed(self, of: &Description, layer: Option<usize>) -> bool {
        match self {
            Self::Positions => of.learned_positions,
            Self::TokenTypes => of.token_types() > 0,
            Self::EmbeddingNorm => of.is_encoder(),
            Self::FinalNorm | Self::AttentionNorm | Self::FeedForwardNorm => !of.is_encoder(),
            Self::Head => !of.is_encoder() && !of.tied,
            Self::Key | Self::Value => layer.is_none_or(|layer| of.has_keys(layer)),
            Self::QueryNorm => of.query_key_norms,
            Self::KeyNorm => of.query_key_norms && layer.is_none_or(|layer| of.has_keys(layer)),
            Self::AfterAttentionNorm | Self::AfterFeedForwardNorm => of.is_encoder() || of.norms_after,
            Self::Gate => of.gated,
            Self::Embedding | Self::Query | Self::Output | Self::Up | Self::Down => true,
            _ => of.streams.is_some(),
        }
    }

    /// Whether the part belongs to the [`Streams`] of a model.
    pub fn is_of_streams(self) -> bool {
        self >= Self::LayerInputs
    }

    /// Whether the part is a vector that scales normalized values.
    pub fn is_norm(self) -> bool {
        matches!(
            self,
            Self::EmbeddingNorm
                | Self::FinalNorm
                | Self::AttentionNorm
                | Self::QueryNorm
                | Self::KeyNorm
                | Self::AfterAttentionNorm
                | Self::FeedForwardNorm
                | Self::AfterFeedForwardNorm
                | Self::LayerInputNorm
                | Self::RouterNorm
                | Self::ActiveScale
                | Self::LowRankNorm
                | Self::InputOutNorm
        )
    }

    /// Returns the number of rows and of columns. A row of a matrix computes one result. A
    /// normalization is one row. A part of streams has no rows in a model without them.
    pub fn shape(self, of: &Description) -> [usize; 2] {
        let (queries, keys) = (of.heads * of.head, of.kv_heads * of.head);
        match self {
            Self::Embedding | Self::Head => [of.vocabulary, of.hidden],
            Self::Positions => [of.context, of.hidden],
            Self::TokenTypes => [of.token_types(), of.hidden],
            Self::EmbeddingNorm
            | Self::FinalNorm
            | Self::AttentionNorm
            | Self::AfterAttentionNorm
            | Self::FeedForwardNorm
            | Self::AfterFeedForwardNorm => [1, of.hidden],
            Self::QueryNorm | Self::KeyNorm => [1, of.head],
            Self::Query => [queries, of.hidden],
            Self::Key | Self::Value => [keys, of.hidden],
            Self::Output => [of.hidden, queries],
            Self::Gate | Self::Up => [of.feed_forward, of.hidden],
            Self::Down => [of.hidden, of.feed_forward],
            // Default: without streams, their parts are empty.
            _ => of.streams.as_ref().map_or([0, 0], |streams| self.stream_shape(of, streams)),
        }
    }

    /// Returns the shape of a part of the streams.
    fn stream_shape(self, of: &Description, streams: &Streams) -> [usize; 2] {
        let (count, inputs) = (streams.count, streams.input.saturating_mul(of.layers.len()));
        match self {
            Self::LayerInputs => [streams.input_vocabulary, inputs],
            Self::LayerInputProjection => [inputs, of.hidden],
            Self::LayerInputNorm => [1, streams.input],
            Self::Router => [count, of.hidden],
            Self::Predictions => [count * count, count],
            Self::Corrections => [count, count],
            Self::LowRankIn => [streams.low_rank, of.hidden],
            Self::LowRankOut => [of.hidden, streams.low_rank],
            Self::InputGate => [streams.input, of.hidden],
            Self::InputOut => [of.hidden, streams.input],
            Self::StreamBegin | Self::StreamEnd => [of.hidden, of.hidden],
            _ => [1, of.hidden],
        }
    }
}
