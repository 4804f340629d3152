//! Decoders of the Gemma 3N family. They have several streams between layers (AltUp), low-rank
//! branches (LAuReL), per-layer inputs, sparse gates, and layers that read other layers' keys and
//! values.
//!
//! [`Layer::step`] is the graph of one layer, [`Gemma3n::decode`] that of a whole model; both
//! compute one token. Formulas: 5.1 of the specification of the accelerator that was made for it.
//! Where its documents and its runtime disagree (C37, C38), options of [`Gemma3nConfig`] select one
//! of them.

mod config;
mod net;
mod seeded;
mod stack;
mod top_k;
mod weights;

pub use config::{AttentionInput, Cache, Gemma3nConfig};
pub use top_k::{Gate, TopK};
pub use weights::{Gemma3n, KeyValue, Layer};
