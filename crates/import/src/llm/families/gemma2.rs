//! Gemma 2: Gemma with normalized results, bounded logits, and a window in every other layer.

use npukit_graph::language::Part;

use super::gemma::GEMMA;
use crate::llm::family::{Family, Name, Windows};

/// Names in a folder.
const FOLDER: &[Name] = &[
    (Part::Embedding, "model.embed_tokens"),
    (Part::FinalNorm, "model.norm"),
    (Part::Head, "lm_head"),
    (Part::AttentionNorm, "model.layers.{}.input_layernorm"),
    (Part::Query, "model.layers.{}.self_attn.q_proj"),
    (Part::Key, "model.layers.{}.self_attn.k_proj"),
    (Part::Value, "model.layers.{}.self_attn.v_proj"),
    (Part::QueryNorm, "model.layers.{}.self_attn.q_norm"),
    (Part::KeyNorm, "model.layers.{}.self_attn.k_norm"),
    (Part::Output, "model.layers.{}.self_attn.o_proj"),
    (Part::AfterAttentionNorm, "model.layers.{}.post_attention_layernorm"),
    (Part::FeedForwardNorm, "model.layers.{}.pre_feedforward_layernorm"),
    (Part::Gate, "model.layers.{}.mlp.gate_proj"),
    (Part::Up, "model.layers.{}.mlp.up_proj"),
    (Part::Down, "model.layers.{}.mlp.down_proj"),
    (Part::AfterFeedForwardNorm, "model.layers.{}.post_feedforward_layernorm"),
];

/// The family. The attention of the model of 27 billion weights, with 46 layers, is scaled by
/// another size.
pub(super) const GEMMA2: Family = Family {
    model_types: &["gemma2"],
    architectures: &["gemma2"],
    folder_names: FOLDER,
    norms_after: true,
    windows: Windows::ExceptEach(2),
    scaled_by_hidden: &[46],
    ..GEMMA
};
