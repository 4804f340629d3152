//! Mistral: Llama with a window in all layers. Its GGUF files are of the architecture `llama`.

use super::llama::LLAMA;
use crate::llm::family::{Family, Windows};

/// The family.
pub(super) const MISTRAL: Family =
    Family { model_types: &["mistral"], architectures: &[], windows: Windows::Always, ..LLAMA };
