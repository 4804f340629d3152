//! Models built in Rust: reference networks as ONNX files with seeded weights ([`zoo`]), and
//! families of language models.
//!
//! A family that needs more than a [`DecoderModel`](npukit_graph::decoder::DecoderModel) is a
//! module with graphs of its layers and of a whole model, one token at a time: [`gemma3n`].

pub mod gemma3n;
pub mod zoo;
