//! Gemma 3: Gemma 2 with normalized query and key heads, and two bases of rotations.

use super::gemma2::GEMMA2;
use crate::llm::family::{Family, Windows};

/// The family. The attention of the model of 27 billion weights, with 62 layers, is scaled by
/// another size.
pub(super) const GEMMA3: Family = Family {
    model_types: &["gemma3_text"],
    architectures: &["gemma3"],
    unused: &["vision_tower.", "multi_modal_projector."],
    query_key_norms: true,
    windows: Windows::ExceptEach(6),
    window_theta: Some(10_000.0),
    scaled_by_hidden: &[62],
    ..GEMMA2
};
