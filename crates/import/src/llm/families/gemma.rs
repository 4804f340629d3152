//! Gemma 1: scaled embeddings, and gains that lack 1. Its models use the approximation of GELU by
//! tanh, whatever their `hidden_act` is.

use npukit_graph::language::{Activation, Pairs};
use npukit_graph::op::GeluForm;

use super::llama::LLAMA;
use crate::llm::family::Family;

/// The family.
pub(super) const GEMMA: Family = Family {
    model_types: &["gemma"],
    architectures: &["gemma"],
    gguf_pairs: Pairs::Halves,
    folder_gains_lack_1: true,
    activation: Activation::Gelu(GeluForm::Tanh),
    states_activation: false,
    tied: true,
    scaled_embeddings: true,
    ..LLAMA
};
