//! Keyword spotting: the `conv` network of TensorFlow's speech commands example, after Sainath and
//! Parada, "Convolutional neural networks for small-footprint keyword spotting" (2015).

use crate::zoo::builder::{Builder, Conv, Value, Window};
use crate::zoo::network::Network;

/// A second of speech: 98 frames of 40 coefficients; ten words, silence and unknown.
pub(super) const SPEECH_COMMANDS: Network = Network {
    name: "speech_commands",
    summary: "words in a second of speech, 98 frames of 40 coefficients",
    input: &[1, 1, 98, 40],
    build,
};

fn build(net: &mut Builder, x: Value) -> Vec<Value> {
    // Even windows are padded by one more row or column at the end.
    let first = Window { kernel: [20, 8], stride: [1, 1], pads: [9, 3, 10, 4] };
    let second = Window { kernel: [10, 4], stride: [1, 1], pads: [4, 1, 5, 2] };
    let x = net.conv(&x, Conv::new(64, first));
    let x = net.relu(&x);
    let x = net.max_pool(&x, Window::valid(2, 2));
    let x = net.conv(&x, Conv::new(64, second));
    let x = net.relu(&x);
    let x = net.flatten(&x);
    vec![net.dense(&x, 12)]
}
