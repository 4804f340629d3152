//! GPT-2: learned positions, layer normalization, biases, and no gate.

use npukit_graph::language::{Activation, NormKind, Pairs, Part};
use npukit_graph::op::GeluForm;

use super::llama::LLAMA;
use crate::llm::family::{Family, Name};

const FOLDER: &[Name] = &[
    (Part::Embedding, "transformer.wte"),
    (Part::Positions, "transformer.wpe"),
    (Part::FinalNorm, "transformer.ln_f"),
    (Part::Head, "lm_head"),
    (Part::AttentionNorm, "transformer.h.{}.ln_1"),
    (Part::Query, "transformer.h.{}.attn.c_attn"),
    (Part::Key, "transformer.h.{}.attn.c_attn"),
    (Part::Value, "transformer.h.{}.attn.c_attn"),
    (Part::Output, "transformer.h.{}.attn.c_proj"),
    (Part::FeedForwardNorm, "transformer.h.{}.ln_2"),
    (Part::Up, "transformer.h.{}.mlp.c_fc"),
    (Part::Down, "transformer.h.{}.mlp.c_proj"),
];

const GGUF: &[Name] = &[
    (Part::Embedding, "token_embd"),
    (Part::Positions, "position_embd"),
    (Part::FinalNorm, "output_norm"),
    (Part::Head, "output"),
    (Part::AttentionNorm, "blk.{}.attn_norm"),
    (Part::Query, "blk.{}.attn_qkv"),
    (Part::Key, "blk.{}.attn_qkv"),
    (Part::Value, "blk.{}.attn_qkv"),
    (Part::Output, "blk.{}.attn_output"),
    (Part::FeedForwardNorm, "blk.{}.ffn_norm"),
    (Part::Up, "blk.{}.ffn_up"),
    (Part::Down, "blk.{}.ffn_down"),
];

/// The family.
pub(super) const GPT2: Family = Family {
    model_types: &["gpt2"],
    architectures: &["gpt2"],
    folder_names: FOLDER,
    gguf_names: GGUF,
    gguf_pairs: Pairs::Halves,
    folder_transposed: true,
    biases: &[
        Part::FinalNorm,
        Part::AttentionNorm,
        Part::Query,
        Part::Key,
        Part::Value,
        Part::Output,
        Part::FeedForwardNorm,
        Part::Up,
        Part::Down,
    ],
    norm: NormKind::Layer,
    activation: Activation::Gelu(GeluForm::Tanh),
    gated: false,
    learned_positions: true,
    tied: true,
    ..LLAMA
};
