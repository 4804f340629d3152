//! Qwen 2 and 2.5: Llama with biases of queries, keys and values.

use npukit_graph::language::{Pairs, Part};

use super::llama::LLAMA;
use crate::llm::family::{Family, Windows};

/// The family.
pub(super) const QWEN2: Family = Family {
    model_types: &["qwen2"],
    architectures: &["qwen2"],
    gguf_pairs: Pairs::Halves,
    biases: &[Part::Query, Part::Key, Part::Value],
    windows: Windows::IfUsed,
    ..LLAMA
};
