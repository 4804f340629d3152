//! A small transformer decoder with a normalization before each part, as in GPT-2.

use crate::zoo::builder::{Builder, Value};
use crate::zoo::network::Network;

/// Two layers of four heads over 32 positions of 64 features; logits of 256 tokens.
pub(super) const DECODER: Network = Network {
    name: "decoder",
    summary: "two decoder layers with causal attention, 32 positions of 64 features",
    input: &[1, 32, 64],
    build,
};

const LAYERS: usize = 2;
const HEADS: usize = 4;
/// Ratio of the features between the two projections of a layer to those outside.
const WIDENING: usize = 4;
const TOKENS: usize = 256;

fn build(net: &mut Builder, x: Value) -> Vec<Value> {
    let x = (0..LAYERS).fold(x, |x, _| layer(net, &x));
    let x = net.layer_norm(&x);
    vec![net.project(&x, TOKENS)]
}

fn layer(net: &mut Builder, x: &Value) -> Value {
    let normal = net.layer_norm(x);
    let attended = net.causal_attention(&normal, HEADS);
    let x = net.add(x, &attended);
    let normal = net.layer_norm(&x);
    let wide = net.project(&normal, WIDENING * x.size(2));
    let wide = net.gelu(&wide);
    let narrow = net.project(&wide, x.size(2));
    net.add(&x, &narrow)
}
