//! The networks of the zoo against published sizes, the graph that they import to, and a number
//! format; the families of language models.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "main/counts.rs"]
mod counts;
#[path = "main/gemma3n.rs"]
mod gemma3n;
#[path = "main/gemma3n_parts.rs"]
mod gemma3n_parts;
#[path = "main/ranges.rs"]
mod ranges;
#[path = "main/support.rs"]
mod support;
