//! Reference networks, as ONNX files with seeded weights: [`networks`], each a [`Network`].
//!
//! The shapes are as published. The weights are random, but scaled so that activations keep a
//! standard deviation of about one from layer to layer: they neither vanish nor saturate in 16
//! bits. A network is a function over the builder in `networks/`, and a line in the list there.

mod builder;
mod images;
mod network;
mod networks;
mod random;
mod spread;

pub use builder::Counts;
pub use images::stand_in;
pub use network::{INPUT, Network};
pub use networks::{network, networks};
