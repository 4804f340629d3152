//! A multi-layer perceptron.

use crate::zoo::builder::{Builder, Value};
use crate::zoo::network::Network;

/// Two hidden layers over images of 28 by 28 pixels.
pub(super) const MLP: Network =
    Network { name: "mlp", summary: "perceptron, 784-256-128-10", input: &[1, 784], build };

fn build(net: &mut Builder, x: Value) -> Vec<Value> {
    let hidden = [256, 128].into_iter().fold(x, |x, units| {
        let x = net.dense(&x, units);
        net.relu(&x)
    });
    vec![net.dense(&hidden, 10)]
}
