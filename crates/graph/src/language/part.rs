//! [`Part`]: the tensors of a language model, with their shapes.

use super::Description;

/// Tensor of a language model: of the whole model, or of each of its layers.
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
}

impl Part {
    /// Parts of the whole model.
    pub const MODEL: [Self; 6] = [
        Self::Embedding,
        Self::Positions,
        Self::TokenTypes,
        Self::EmbeddingNorm,
        Self::FinalNorm,
        Self::Head,
    ];
    /// Parts of a layer.
    pub const LAYER: [Self; 13] = [
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
    ];

    /// Whether a model of this description has the part.
    pub fn is_needed(self, of: &Description) -> bool {
        match self {
            Self::Positions => of.learned_positions,
            Self::TokenTypes => of.token_types() > 0,
            Self::EmbeddingNorm => of.is_encoder(),
            Self::FinalNorm | Self::AttentionNorm | Self::FeedForwardNorm => !of.is_encoder(),
            Self::Head => !of.is_encoder() && !of.tied,
            Self::QueryNorm | Self::KeyNorm => of.query_key_norms,
            Self::AfterAttentionNorm | Self::AfterFeedForwardNorm => of.is_encoder() || of.norms_after,
            Self::Gate => of.gated,
            _ => true,
        }
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
        )
    }

    /// Returns the number of rows and of columns. A row of a matrix computes one result. A
    /// normalization is one row.
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
        }
    }
}
