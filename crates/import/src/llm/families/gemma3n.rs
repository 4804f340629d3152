//! Gemma 3N: several streams between layers, low-rank branches, inputs of layers, gates that pass
//! their largest values, and layers that read the keys and values of others.

use npukit_graph::language::Part;

use super::gemma3::GEMMA3;
use crate::llm::family::{Family, Name, Windows};

/// Names in a folder.
const FOLDER: &[Name] = &[
    (Part::Embedding, "model.embed_tokens"),
    (Part::FinalNorm, "model.norm"),
    (Part::Head, "lm_head"),
    (Part::LayerInputs, "model.embed_tokens_per_layer"),
    (Part::LayerInputProjection, "model.per_layer_model_projection"),
    (Part::LayerInputNorm, "model.per_layer_projection_norm"),
    (Part::StreamBegin, "model.altup_projections.{}"),
    (Part::StreamEnd, "model.altup_unembed_projections.{}"),
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
    (Part::RouterNorm, "model.layers.{}.altup.router_norm"),
    (Part::Router, "model.layers.{}.altup.modality_router"),
    (Part::Predictions, "model.layers.{}.altup.prediction_coefs"),
    (Part::Corrections, "model.layers.{}.altup.correction_coefs"),
    (Part::ActiveScale, "model.layers.{}.altup.correct_output_scale"),
    (Part::LowRankIn, "model.layers.{}.laurel.linear_left"),
    (Part::LowRankOut, "model.layers.{}.laurel.linear_right"),
    (Part::LowRankNorm, "model.layers.{}.laurel.post_laurel_norm"),
    (Part::InputGate, "model.layers.{}.per_layer_input_gate"),
    (Part::InputOut, "model.layers.{}.per_layer_projection"),
    (Part::InputOutNorm, "model.layers.{}.post_per_layer_input_norm"),
];

/// Names in a GGUF file. The matrices of all streams are one tensor.
const GGUF: &[Name] = &[
    (Part::Embedding, "token_embd"),
    (Part::FinalNorm, "output_norm"),
    (Part::Head, "output"),
    (Part::LayerInputs, "per_layer_token_embd"),
    (Part::LayerInputProjection, "per_layer_model_proj"),
    (Part::LayerInputNorm, "per_layer_proj_norm"),
    (Part::StreamBegin, "altup_proj"),
    (Part::StreamEnd, "altup_unembd_proj"),
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
    (Part::RouterNorm, "blk.{}.altup_router_norm"),
    (Part::Router, "blk.{}.altup_router"),
    (Part::Predictions, "blk.{}.altup_predict_coef"),
    (Part::Corrections, "blk.{}.altup_correct_coef"),
    (Part::ActiveScale, "blk.{}.altup_correct_scale"),
    (Part::LowRankIn, "blk.{}.laurel_l"),
    (Part::LowRankOut, "blk.{}.laurel_r"),
    (Part::LowRankNorm, "blk.{}.laurel_post_norm"),
    (Part::InputGate, "blk.{}.inp_gate"),
    (Part::InputOut, "blk.{}.proj"),
    (Part::InputOutNorm, "blk.{}.post_norm"),
];

/// The family. Folders of the whole model, which also has parts for images and audio, are read too.
pub(super) const GEMMA3N: Family = Family {
    model_types: &["gemma3n_text"],
    architectures: &["gemma3n"],
    folder_names: FOLDER,
    gguf_names: GGUF,
    folder_gains_lack_1: false,
    unused: &["vision_tower.", "audio_tower.", "embed_vision.", "embed_audio."],
    unscaled_attention: true,
    streams: true,
    gguf_final_cap: Some(30.0),
    windows: Windows::ExceptEach(5),
    scaled_by_hidden: &[],
    ..GEMMA3
};
