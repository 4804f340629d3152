//! Tests of the families of language models.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "main/gemma3n.rs"]
mod gemma3n;
#[path = "main/gemma3n_parts.rs"]
mod gemma3n_parts;
#[path = "main/support.rs"]
mod support;
