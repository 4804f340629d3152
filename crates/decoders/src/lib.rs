//! Families of language models that need more than a [`DecoderModel`](npukit_graph::decoder::DecoderModel): graphs of
//! their layers and of a whole model, one token at a time.
//!
//! A family is a module: [`gemma3n`].

pub mod gemma3n;
