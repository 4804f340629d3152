//! Llama 1 to 3, and families with the same structure: SmolLM, SmolLM 2, TinyLlama.

use npukit_graph::language::{Activation, NormKind, Pairs, Part};

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
    (Part::FeedForwardNorm, "model.layers.{}.post_attention_layernorm"),
    (Part::Gate, "model.layers.{}.mlp.gate_proj"),
    (Part::Up, "model.layers.{}.mlp.up_proj"),
    (Part::Down, "model.layers.{}.mlp.down_proj"),
];

/// Names in a GGUF file.
const GGUF: &[Name] = &[
    (Part::Embedding, "token_embd"),
    (Part::FinalNorm, "output_norm"),
    (Part::Head, "output"),
    (Part::AttentionNorm, "blk.{}.attn_norm"),
    (Part::Query, "blk.{}.attn_q"),
    (Part::Key, "blk.{}.attn_k"),
    (Part::Value, "blk.{}.attn_v"),
    (Part::QueryNorm, "blk.{}.attn_q_norm"),
    (Part::KeyNorm, "blk.{}.attn_k_norm"),
    (Part::Output, "blk.{}.attn_output"),
    (Part::AfterAttentionNorm, "blk.{}.post_attention_norm"),
    (Part::FeedForwardNorm, "blk.{}.ffn_norm"),
    (Part::Gate, "blk.{}.ffn_gate"),
    (Part::Up, "blk.{}.ffn_up"),
    (Part::Down, "blk.{}.ffn_down"),
    (Part::AfterFeedForwardNorm, "blk.{}.post_ffw_norm"),
];

/// The family. The converter to GGUF permutes the rows of queries and keys, so that neighbors are
/// rotated together.
pub(super) const LLAMA: Family = Family {
    model_types: &["llama"],
    architectures: &["llama"],
    folder_names: FOLDER,
    gguf_names: GGUF,
    gguf_pairs: Pairs::Neighbors,
    folder_transposed: false,
    folder_gains_lack_1: false,
    unused: &[],
    encoder: false,
    biases: &[],
    norm: NormKind::Rms,
    query_key_norms: false,
    norms_after: false,
    activation: Activation::Silu,
    states_activation: true,
    gated: true,
    learned_positions: false,
    tied: false,
    scaled_embeddings: false,
    unscaled_attention: false,
    streams: false,
    gguf_final_cap: None,
    windows: Windows::Never,
    window_theta: None,
    scaled_by_hidden: &[],
};
