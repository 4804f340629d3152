//! BERT and encoders with its structure: MiniLM, BGE, E5, GTE.

use npukit_graph::language::{Activation, NormKind, Pairs, Part};
use npukit_graph::op::GeluForm;

use super::llama::LLAMA;
use crate::llm::family::{Family, Name};

const FOLDER: &[Name] = &[
    (Part::Embedding, "bert.embeddings.word_embeddings"),
    (Part::Positions, "bert.embeddings.position_embeddings"),
    (Part::TokenTypes, "bert.embeddings.token_type_embeddings"),
    (Part::EmbeddingNorm, "bert.embeddings.LayerNorm"),
    (Part::Query, "bert.encoder.layer.{}.attention.self.query"),
    (Part::Key, "bert.encoder.layer.{}.attention.self.key"),
    (Part::Value, "bert.encoder.layer.{}.attention.self.value"),
    (Part::Output, "bert.encoder.layer.{}.attention.output.dense"),
    (Part::AfterAttentionNorm, "bert.encoder.layer.{}.attention.output.LayerNorm"),
    (Part::Up, "bert.encoder.layer.{}.intermediate.dense"),
    (Part::Down, "bert.encoder.layer.{}.output.dense"),
    (Part::AfterFeedForwardNorm, "bert.encoder.layer.{}.output.LayerNorm"),
];

const GGUF: &[Name] = &[
    (Part::Embedding, "token_embd"),
    (Part::Positions, "position_embd"),
    (Part::TokenTypes, "token_types"),
    (Part::EmbeddingNorm, "token_embd_norm"),
    (Part::Query, "blk.{}.attn_q"),
    (Part::Key, "blk.{}.attn_k"),
    (Part::Value, "blk.{}.attn_v"),
    (Part::Output, "blk.{}.attn_output"),
    (Part::AfterAttentionNorm, "blk.{}.attn_output_norm"),
    (Part::Up, "blk.{}.ffn_up"),
    (Part::Down, "blk.{}.ffn_down"),
    (Part::AfterFeedForwardNorm, "blk.{}.layer_output_norm"),
];

/// The family.
pub(super) const BERT: Family = Family {
    model_types: &["bert"],
    architectures: &["bert"],
    folder_names: FOLDER,
    gguf_names: GGUF,
    gguf_pairs: Pairs::Halves,
    unused: &["embeddings.position_ids", "pooler.", "cls."],
    encoder: true,
    biases: &[
        Part::EmbeddingNorm,
        Part::Query,
        Part::Key,
        Part::Value,
        Part::Output,
        Part::AfterAttentionNorm,
        Part::Up,
        Part::Down,
        Part::AfterFeedForwardNorm,
    ],
    norm: NormKind::Layer,
    activation: Activation::Gelu(GeluForm::Exact),
    gated: false,
    learned_positions: true,
    tied: true,
    ..LLAMA
};
