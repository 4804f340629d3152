//! Qwen 3: Llama with normalized query and key heads.

use npukit_graph::language::Pairs;

use super::llama::LLAMA;
use crate::llm::family::{Family, Windows};

/// The family.
pub(super) const QWEN3: Family = Family {
    model_types: &["qwen3"],
    architectures: &["qwen3"],
    gguf_pairs: Pairs::Halves,
    query_key_norms: true,
    windows: Windows::IfUsed,
    ..LLAMA
};
