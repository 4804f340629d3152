//! The compiler.

#[path = "lower/efficiency.rs"]
mod efficiency;
