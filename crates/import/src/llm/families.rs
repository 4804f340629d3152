//! The supported families, one file each. A new family is a file, its `mod` and its line in
//! [`ALL`].

mod bert;
mod gemma;
mod gemma2;
mod gemma3;
mod gemma3n;
mod gpt2;
mod llama;
mod mistral;
mod phi3;
mod qwen2;
mod qwen3;

use super::family::Family;

/// All families.
pub(super) const ALL: &[&Family] = &[
    &llama::LLAMA,
    &mistral::MISTRAL,
    &qwen2::QWEN2,
    &qwen3::QWEN3,
    &gemma::GEMMA,
    &gemma2::GEMMA2,
    &gemma3::GEMMA3,
    &gemma3n::GEMMA3N,
    &phi3::PHI3,
    &gpt2::GPT2,
    &bert::BERT,
];

/// Returns the family with this `model_type`.
pub(super) fn of_model_type(name: &str) -> Option<&'static Family> {
    ALL.iter().copied().find(|family| family.model_types.contains(&name))
}

/// Returns the family with this `general.architecture`.
pub(super) fn of_architecture(name: &str) -> Option<&'static Family> {
    ALL.iter().copied().find(|family| family.architectures.contains(&name))
}
