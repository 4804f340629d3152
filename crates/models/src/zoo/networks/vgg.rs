//! VGG-16 (Simonyan and Zisserman, 2014).

use super::{IMAGENET, IMAGENET_CLASSES};
use crate::zoo::builder::{Builder, Conv, Value, Window};
use crate::zoo::network::Network;

/// Configuration D.
pub(super) const VGG16: Network =
    Network { name: "vgg16", summary: "VGG-16, configuration D", input: IMAGENET, build };

/// Configuration D without the dense layers, which hold nine tenths of the weights.
pub(super) const VGG16_FEATURES: Network = Network {
    name: "vgg16_features",
    summary: "VGG-16, its thirteen convolutions",
    input: IMAGENET,
    build: |net, x| vec![features(net, x)],
};

/// Filters and number of convolutions between poolings.
const STAGES: [(usize, usize); 5] = [(64, 2), (128, 2), (256, 3), (512, 3), (512, 3)];

fn features(net: &mut Builder, x: Value) -> Value {
    let mut x = x;
    for (filters, count) in STAGES {
        for _ in 0..count {
            x = net.conv(&x, Conv::new(filters, Window::centered(3, 1)));
            x = net.relu(&x);
        }
        x = net.max_pool(&x, Window::valid(2, 2));
    }
    x
}

fn build(net: &mut Builder, x: Value) -> Vec<Value> {
    let x = features(net, x);
    let mut x = net.flatten(&x);
    for _ in 0..2 {
        x = net.dense(&x, 4096);
        x = net.relu(&x);
    }
    vec![net.dense(&x, IMAGENET_CLASSES)]
}
