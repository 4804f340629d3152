//! Phi-3 and Phi-3.5: Llama with fused matrices.

use npukit_graph::language::{Pairs, Part};

use super::llama::LLAMA;
use crate::llm::family::{Family, Name, Windows};

const FOLDER: &[Name] = &[
    (Part::Embedding, "model.embed_tokens"),
    (Part::FinalNorm, "model.norm"),
    (Part::Head, "lm_head"),
    (Part::AttentionNorm, "model.layers.{}.input_layernorm"),
    (Part::Query, "model.layers.{}.self_attn.qkv_proj"),
    (Part::Key, "model.layers.{}.self_attn.qkv_proj"),
    (Part::Value, "model.layers.{}.self_attn.qkv_proj"),
    (Part::Output, "model.layers.{}.self_attn.o_proj"),
    (Part::FeedForwardNorm, "model.layers.{}.post_attention_layernorm"),
    (Part::Gate, "model.layers.{}.mlp.gate_up_proj"),
    (Part::Up, "model.layers.{}.mlp.gate_up_proj"),
    (Part::Down, "model.layers.{}.mlp.down_proj"),
];

const GGUF: &[Name] = &[
    (Part::Embedding, "token_embd"),
    (Part::FinalNorm, "output_norm"),
    (Part::Head, "output"),
    (Part::AttentionNorm, "blk.{}.attn_norm"),
    (Part::Query, "blk.{}.attn_qkv"),
    (Part::Key, "blk.{}.attn_qkv"),
    (Part::Value, "blk.{}.attn_qkv"),
    (Part::Output, "blk.{}.attn_output"),
    (Part::FeedForwardNorm, "blk.{}.ffn_norm"),
    (Part::Gate, "blk.{}.ffn_up"),
    (Part::Up, "blk.{}.ffn_up"),
    (Part::Down, "blk.{}.ffn_down"),
];

/// The family.
pub(super) const PHI3: Family = Family {
    model_types: &["phi3"],
    architectures: &["phi3"],
    folder_names: FOLDER,
    gguf_names: GGUF,
    gguf_pairs: Pairs::Halves,
    windows: Windows::Always,
    ..LLAMA
};
